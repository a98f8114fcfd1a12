#pragma once

// Pango and Cairo, opened when the first PNG is drawn (core/dynamic_library.h): no start of dptrain waits for them, and
// a machine without them draws SVG. Read-only once opened; any thread.

#include <pango/pangocairo.h>

namespace dptrain::plot::pango {

struct Functions {
  decltype(&cairo_image_surface_create) create_surface;
  decltype(&cairo_image_surface_create_for_data) surface_of_data;
  decltype(&cairo_image_surface_get_data) data;
  decltype(&cairo_image_surface_get_stride) stride;
  decltype(&cairo_format_stride_for_width) stride_of_width;
  decltype(&cairo_surface_status) surface_status;
  decltype(&cairo_surface_flush) flush;
  decltype(&cairo_surface_destroy) destroy_surface;
  decltype(&cairo_create) create;
  decltype(&cairo_destroy) destroy;
  decltype(&cairo_save) save;
  decltype(&cairo_restore) restore;
  decltype(&cairo_scale) scale;
  decltype(&cairo_translate) translate;
  decltype(&cairo_rotate) rotate;
  decltype(&cairo_set_source_rgba) set_color;
  decltype(&cairo_set_source_surface) set_surface;
  decltype(&cairo_get_source) source;
  decltype(&cairo_pattern_set_filter) set_filter;
  decltype(&cairo_paint) paint;
  decltype(&cairo_new_path) new_path;
  decltype(&cairo_move_to) move_to;
  decltype(&cairo_line_to) line_to;
  decltype(&cairo_close_path) close_path;
  decltype(&cairo_arc) arc;
  decltype(&cairo_rectangle) rectangle;
  decltype(&cairo_fill) fill;
  decltype(&cairo_fill_preserve) fill_and_keep;
  decltype(&cairo_stroke) stroke;
  decltype(&cairo_set_line_width) set_width;
  decltype(&cairo_set_line_join) set_join;
  decltype(&cairo_set_line_cap) set_cap;
  decltype(&cairo_set_dash) set_dash;
  decltype(&pango_cairo_create_layout) create_layout;
  decltype(&pango_cairo_font_map_set_default) set_font_map;
  decltype(&pango_cairo_show_layout_line) show_line;
  decltype(&pango_layout_set_text) set_text;
  decltype(&pango_layout_set_font_description) set_font;
  decltype(&pango_layout_set_single_paragraph_mode) set_single_paragraph;
  decltype(&pango_layout_set_auto_dir) set_auto_direction;
  decltype(&pango_layout_get_line_readonly) line;
  decltype(&pango_layout_get_size) size;
  decltype(&pango_font_description_new) new_font;
  decltype(&pango_font_description_set_family) set_font_family;
  decltype(&pango_font_description_set_absolute_size) set_font_size;
  decltype(&pango_font_description_set_weight) set_font_weight;
  decltype(&pango_font_description_free) free_font;
  decltype(&g_object_unref) unref;
};

/// Throws Error{kUsage} where a library cannot be opened.
const Functions& functions();

}  // namespace dptrain::plot::pango
