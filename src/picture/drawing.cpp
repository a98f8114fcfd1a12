#include "picture/drawing.h"

#include "picture/text_width.h"

namespace dptrain::picture {

void Drawing::add_fitting(Words words, double most, std::string title) {
  std::string fitting = shortened(words.text, words.size, most, words.bold);
  if (fitting != words.text && title.empty()) title = words.text;
  words.text = std::move(fitting);
  add({std::move(words), std::move(title)});
}

}  // namespace dptrain::picture
