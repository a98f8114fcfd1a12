#pragma once

namespace dptrain::data {

/// A date, or a date and a time: the days since 1970, normalised over the training rows, and where the moment stands in
/// its year, its week and, where there are times, its day, each as sine and cosine.
struct DateSpec {};

}  // namespace dptrain::data
