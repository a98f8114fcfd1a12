#include "train/line_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/files.h"
#include "core/format.h"
#include "core/log.h"

namespace dptrain::train {
int append_whole(const std::string& path, const std::string& header, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return errno;
  struct stat before {};
  int failure = fstat(file, &before) == 0 ? 0 : errno;
  const std::string all = before.st_size == 0 ? header + text : text;
  for (std::size_t done = 0; failure == 0 && done < all.size();) {
    const ssize_t written = write(file, all.data() + done, all.size() - done);
    if (written >= 0)
      done += static_cast<std::size_t>(written);
    else if (errno != EINTR)
      failure = errno;
  }
  if (failure != 0 && ftruncate(file, before.st_size) != 0) failure = errno;
  if (close(file) != 0 && failure == 0) failure = errno;
  return failure;
}

void LineFile::append(const std::string& line, const std::string& header) {
  header_ = header.empty() ? "" : header + "\n";
  pending_ += line + "\n";
  const int failure = write_pending();
  if (failure != 0 && !warned_)
    log::warn(fmt::format("{}: cannot write: {}; lines are kept and written later", path_, std::strerror(failure)));
  warned_ = failure != 0;
}

bool LineFile::flush() {
  const int failure = pending_.empty() ? 0 : write_pending();
  if (failure != 0)
    log::warn(fmt::format("{}: cannot write: {}; its last lines are lost", path_, std::strerror(failure)));
  return failure == 0;
}

int LineFile::write_pending() {
  const int failure = append_whole(path_, header_, pending_);
  if (failure == 0) pending_.clear();
  return failure;
}

std::vector<std::string> LineFile::read(const std::string& path) {
  std::vector<std::string> lines;
  const std::string all = read_text(path);
  for (std::size_t begin = 0, end = all.find('\n'); end != std::string::npos;
       begin = end + 1, end = all.find('\n', begin))
    lines.push_back(all.substr(begin, end - begin));
  return lines;
}

void LineFile::filter(const std::string& path, const std::function<bool(const std::string& line)>& keep) {
  if (access(path.c_str(), F_OK) != 0) return;
  std::string kept;
  for (const std::string& line : read(path))
    if (keep(line)) kept += line + "\n";
  write_text(path, kept);
}

std::string read_text(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  int failure = file < 0 ? errno : 0;
  if (failure == ENOENT) return "";
  std::string text, part(1 << 16, '\0');
  for (ssize_t size = 1; failure == 0 && size != 0;) {
    size = ::read(file, part.data(), part.size());
    if (size > 0) text.append(part, 0, static_cast<std::size_t>(size));
    if (size < 0 && errno != EINTR) failure = errno;
  }
  if (file >= 0) close(file);
  if (failure != 0)
    throw Error(ErrorKind::kWrite,
                fmt::format("{}: cannot read: {}; nothing was changed there, try again", path, std::strerror(failure)));
  return text;
}

void write_text(const std::string& path, const std::string& text) {
  write_atomically(path, {std::as_bytes(std::span(text.data(), text.size()))});
}

}  // namespace dptrain::train
