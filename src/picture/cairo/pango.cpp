#include "picture/cairo/pango.h"

#include <type_traits>

#include "core/dynamic_library.h"
#include "core/error.h"

namespace dptrain::picture::pango {
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
  const auto fill = [](const DynamicLibrary& from, auto& function, const char* name) {
    function = from.function<std::remove_reference_t<decltype(function)>>(name);
  };
  fill(cairo, f.create_surface, "cairo_image_surface_create");
  fill(cairo, f.surface_of_data, "cairo_image_surface_create_for_data");
  fill(cairo, f.data, "cairo_image_surface_get_data");
  fill(cairo, f.stride, "cairo_image_surface_get_stride");
  fill(cairo, f.stride_of_width, "cairo_format_stride_for_width");
  fill(cairo, f.surface_status, "cairo_surface_status");
  fill(cairo, f.flush, "cairo_surface_flush");
  fill(cairo, f.destroy_surface, "cairo_surface_destroy");
  fill(cairo, f.create, "cairo_create");
  fill(cairo, f.destroy, "cairo_destroy");
  fill(cairo, f.save, "cairo_save");
  fill(cairo, f.restore, "cairo_restore");
  fill(cairo, f.scale, "cairo_scale");
  fill(cairo, f.translate, "cairo_translate");
  fill(cairo, f.rotate, "cairo_rotate");
  fill(cairo, f.set_color, "cairo_set_source_rgba");
  fill(cairo, f.set_surface, "cairo_set_source_surface");
  fill(cairo, f.source, "cairo_get_source");
  fill(cairo, f.set_filter, "cairo_pattern_set_filter");
  fill(cairo, f.paint, "cairo_paint");
  fill(cairo, f.new_path, "cairo_new_path");
  fill(cairo, f.move_to, "cairo_move_to");
  fill(cairo, f.line_to, "cairo_line_to");
  fill(cairo, f.close_path, "cairo_close_path");
  fill(cairo, f.arc, "cairo_arc");
  fill(cairo, f.rectangle, "cairo_rectangle");
  fill(cairo, f.fill, "cairo_fill");
  fill(cairo, f.fill_and_keep, "cairo_fill_preserve");
  fill(cairo, f.stroke, "cairo_stroke");
  fill(cairo, f.set_width, "cairo_set_line_width");
  fill(cairo, f.set_join, "cairo_set_line_join");
  fill(cairo, f.set_cap, "cairo_set_line_cap");
  fill(cairo, f.set_dash, "cairo_set_dash");
  fill(both, f.create_layout, "pango_cairo_create_layout");
  fill(both, f.set_font_map, "pango_cairo_font_map_set_default");
  fill(both, f.show_line, "pango_cairo_show_layout_line");
  fill(layout, f.set_text, "pango_layout_set_text");
  fill(layout, f.set_font, "pango_layout_set_font_description");
  fill(layout, f.set_single_paragraph, "pango_layout_set_single_paragraph_mode");
  fill(layout, f.set_auto_direction, "pango_layout_set_auto_dir");
  fill(layout, f.line, "pango_layout_get_line_readonly");
  fill(layout, f.size, "pango_layout_get_size");
  fill(layout, f.font_from_string, "pango_font_description_from_string");
  fill(layout, f.set_font_size, "pango_font_description_set_absolute_size");
  fill(layout, f.set_font_weight, "pango_font_description_set_weight");
  fill(layout, f.free_font, "pango_font_description_free");
  fill(objects, f.unref, "g_object_unref");
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

}  // namespace dptrain::picture::pango
