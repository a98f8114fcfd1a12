#include "evaluation/worst_samples.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>

namespace dptrain::evaluation {
namespace {

bool is_worse(const WorstSample& a, const WorstSample& b) {
  return std::tuple(-a.loss, a.index) < std::tuple(-b.loss, b.index);
}

// Maps in a text that processes exchange: index, label and answer, each map as height, width and classes.

void write_map(const plot::ClassMap& map, std::string& text) {
  text.append(reinterpret_cast<const char*>(&map.height), sizeof map.height);
  text.append(reinterpret_cast<const char*>(&map.width), sizeof map.width);
  text.append(reinterpret_cast<const char*>(map.classes.data()), map.classes.size() * sizeof(std::int32_t));
}

void read_bytes(const std::string& text, std::size_t& at, void* out, std::size_t bytes) {
  text.copy(static_cast<char*>(out), bytes, at);
  at += bytes;
}

plot::ClassMap read_map(const std::string& text, std::size_t& at) {
  plot::ClassMap map;
  read_bytes(text, at, &map.height, sizeof map.height);
  read_bytes(text, at, &map.width, sizeof map.width);
  map.classes.resize(static_cast<std::size_t>(map.height * map.width));
  read_bytes(text, at, map.classes.data(), map.classes.size() * sizeof(std::int32_t));
  return map;
}

}  // namespace

double class_loss(float probability) {
  constexpr float kMin = 1e-7F;
  return -std::log(probability > kMin ? static_cast<double>(probability) : static_cast<double>(kMin));
}

bool WorstSamples::accepts(const WorstSample& sample) const {
  return heap_.size() < most_ || (most_ > 0 && is_worse(sample, heap_.front()));
}

void WorstSamples::add(const WorstSample& sample) {
  if (!accepts(sample)) return;
  if (heap_.size() == most_) {
    std::ranges::pop_heap(heap_, is_worse);
    maps_.erase(heap_.back().index);
    heap_.pop_back();
  }
  heap_.push_back(sample);
  std::ranges::push_heap(heap_, is_worse);
}

void WorstSamples::add(const WorstSample& sample, SampleMaps maps) {
  if (!accepts(sample)) return;
  add(sample);
  maps_[sample.index] = std::move(maps);
}

void WorstSamples::add_processes(distributed::Processes& processes) {
  std::vector<WorstSample> all = std::exchange(heap_, {});
  evaluation::add_processes(all, processes);
  const std::map<std::int64_t, SampleMaps> own = std::exchange(maps_, {});
  for (const WorstSample& sample : all) add(sample);
  for (const WorstSample& sample : heap_)
    if (const auto found = own.find(sample.index); found != own.end()) maps_.insert(*found);
  add_maps_of_processes(processes);
}

void WorstSamples::add_maps_of_processes(distributed::Processes& processes) {
  std::string text;
  for (const auto& [index, maps] : maps_) {
    text.append(reinterpret_cast<const char*>(&index), sizeof index);
    write_map(maps.label, text);
    write_map(maps.answer, text);
  }
  for (const std::string& given : processes.gather(text))
    for (std::size_t at = 0; at < given.size();) {
      std::int64_t index = 0;
      read_bytes(given, at, &index, sizeof index);
      SampleMaps& maps = maps_[index];
      maps.label = read_map(given, at);
      maps.answer = read_map(given, at);
    }
}

std::vector<WorstSample> WorstSamples::sorted() const {
  std::vector<WorstSample> all = heap_;
  std::ranges::sort(all, is_worse);
  return all;
}

}  // namespace dptrain::evaluation
