#pragma once

// JPEG files of the usual kind, nearly twice as fast as through libjpeg and with the same pixels. Private to the
// module. Any thread; each keeps tables and buffers for the next file.

#include "data/images/image_decoders.h"

namespace dptrain::data {

/// As decode_jpeg, for whole files and parts of them. false: the file is of another kind (jpeg_tables.h), is damaged,
/// or shall be decoded at a part of its size; `out` is then unspecified, and libjpeg decides.
bool decode_plain_jpeg(ImageBytes file, const DecodeOptions& options, Array& out);

}  // namespace dptrain::data
