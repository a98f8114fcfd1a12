#include "plot/cairo/pango.h"

#include "core/dynamic_library.h"
#include "core/error.h"

namespace dptrain::plot::pango {
namespace {

DynamicLibrary library(const char* what, const char* file, const char* package) {
  return DynamicLibrary(
      {.what = what, .files = {file}, .package = package, .otherwise = "let the picture be a file .svg"});
}

Functions open() {
  const DynamicLibrary cairo = library("Cairo", "libcairo.so.2", "libcairo2");
  const DynamicLibrary objects = library("GObject", "libgobject-2.0.so.0", "libglib2.0-0");
  const DynamicLibrary layout = library("Pango", "libpango-1.0.so.0", "libpango-1.0-0");
  const DynamicLibrary both = library("Pango for Cairo", "libpangocairo-1.0.so.0", "libpangocairo-1.0-0");
  Functions f{};
  cairo.fill(f.create_surface, "cairo_image_surface_create");
  cairo.fill(f.surface_of_data, "cairo_image_surface_create_for_data");
  cairo.fill(f.data, "cairo_image_surface_get_data");
  cairo.fill(f.stride, "cairo_image_surface_get_stride");
  cairo.fill(f.stride_of_width, "cairo_format_stride_for_width");
  cairo.fill(f.surface_status, "cairo_surface_status");
  cairo.fill(f.flush, "cairo_surface_flush");
  cairo.fill(f.destroy_surface, "cairo_surface_destroy");
  cairo.fill(f.create, "cairo_create");
  cairo.fill(f.destroy, "cairo_destroy");
  cairo.fill(f.save, "cairo_save");
  cairo.fill(f.restore, "cairo_restore");
  cairo.fill(f.scale, "cairo_scale");
  cairo.fill(f.translate, "cairo_translate");
  cairo.fill(f.rotate, "cairo_rotate");
  cairo.fill(f.set_color, "cairo_set_source_rgba");
  cairo.fill(f.set_surface, "cairo_set_source_surface");
  cairo.fill(f.source, "cairo_get_source");
  cairo.fill(f.set_filter, "cairo_pattern_set_filter");
  cairo.fill(f.paint, "cairo_paint");
  cairo.fill(f.new_path, "cairo_new_path");
  cairo.fill(f.move_to, "cairo_move_to");
  cairo.fill(f.line_to, "cairo_line_to");
  cairo.fill(f.close_path, "cairo_close_path");
  cairo.fill(f.arc, "cairo_arc");
  cairo.fill(f.rectangle, "cairo_rectangle");
  cairo.fill(f.fill, "cairo_fill");
  cairo.fill(f.fill_and_keep, "cairo_fill_preserve");
  cairo.fill(f.stroke, "cairo_stroke");
  cairo.fill(f.set_width, "cairo_set_line_width");
  cairo.fill(f.set_join, "cairo_set_line_join");
  cairo.fill(f.set_cap, "cairo_set_line_cap");
  cairo.fill(f.set_dash, "cairo_set_dash");
  both.fill(f.create_layout, "pango_cairo_create_layout");
  both.fill(f.set_font_map, "pango_cairo_font_map_set_default");
  both.fill(f.show_line, "pango_cairo_show_layout_line");
  layout.fill(f.set_text, "pango_layout_set_text");
  layout.fill(f.set_font, "pango_layout_set_font_description");
  layout.fill(f.set_single_paragraph, "pango_layout_set_single_paragraph_mode");
  layout.fill(f.set_auto_direction, "pango_layout_set_auto_dir");
  layout.fill(f.line, "pango_layout_get_line_readonly");
  layout.fill(f.size, "pango_layout_get_size");
  layout.fill(f.new_font, "pango_font_description_new");
  layout.fill(f.set_font_family, "pango_font_description_set_family");
  layout.fill(f.set_font_size, "pango_font_description_set_absolute_size");
  layout.fill(f.set_font_weight, "pango_font_description_set_weight");
  layout.fill(f.free_font, "pango_font_description_free");
  objects.fill(f.unref, "g_object_unref");
  return f;
}

}  // namespace

const Functions& functions() {
  try {
    static const Functions table = open();
    return table;
  } catch (const Error& error) {
    throw Error(ErrorKind::kUsage, error.what());
  }
}

}  // namespace dptrain::plot::pango
