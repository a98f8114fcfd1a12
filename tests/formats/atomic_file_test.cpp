// A save leaves the old file or the whole new one: full disks, limits, missing folders, and a process killed while
// saving.

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"
#include "formats/checkpoint_sample.h"

namespace dptrain::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

/// The paths of all synced files, by one thread.
std::vector<std::string>& synced() {
  thread_local std::vector<std::string> paths;
  return paths;
}

std::span<const std::byte> as_part(const std::string& text) { return std::as_bytes(std::span(text)); }

/// The message of the Error{kWrite} of saving `model` as `path`, or "".
std::string failure(const std::string& path, const graph::Model& model) {
  try {
    save_checkpoint(path, model, {}, {});
  } catch (const Error& error) {
    return error.kind() == ErrorKind::kWrite ? error.what() : "of another kind";
  }
  return "";
}

/// Runs `work` in a child process, as limits and mounts are per process; returns its exit status.
template <class Work>
int in_child(Work work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(AtomicFile, WritesThePartsInOrder) {
  const sample::Folder folder;
  const std::string a = "first,", b, c = "second";
  EXPECT_EQ(write_atomically(folder / "file", {as_part(a), as_part(b), as_part(c)}), 12U);
  const std::vector<std::byte> found = sample::bytes_of(folder / "file");
  const std::string expected = a + c;
  EXPECT_EQ(found, std::vector<std::byte>(as_part(expected).begin(), as_part(expected).end()));
  EXPECT_THAT(folder.files(), ElementsAre("file"));
}

TEST(AtomicFile, GrowsUntilItIsComplete) {
  const sample::Folder folder;
  std::ofstream(folder / "file") << "old";
  const std::string a = "0 rows:", b = "one", head = "2", c = "two";
  {
    AtomicFile file(folder / "file");
    file.append(as_part(a));
    EXPECT_THAT(folder.files(), ElementsAre(testing::StartsWith(".file.tmp-"), "file"));
  }
  EXPECT_THAT(folder.files(), ElementsAre("file")) << "the temporary stays without commit()";
  AtomicFile file(folder / "file");
  for (const std::string& part : {a, b, c}) file.append(as_part(part));
  file.replace_head(as_part(head));
  EXPECT_EQ(file.size(), 13U);
  EXPECT_EQ(sample::bytes_of(folder / "file").size(), 3U) << "replaced before commit()";
  file.commit();
  const std::string expected = "2 rows:onetwo";
  EXPECT_EQ(sample::bytes_of(folder / "file"),
            std::vector<std::byte>(as_part(expected).begin(), as_part(expected).end()));
  EXPECT_THAT(folder.files(), ElementsAre("file"));
}

TEST(AtomicFile, WritesToPipesAndDevices) {
  const sample::Folder folder;
  const std::string pipe = folder / "pipe", text = "through";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int end = open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(end, 0);
  EXPECT_EQ(write_atomically(pipe, {as_part(text)}), 7U);
  char arrived[8] = {};
  EXPECT_EQ(read(end, arrived, sizeof(arrived)), 7);
  EXPECT_EQ(arrived, text);
  close(end);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_EQ(write_atomically("/dev/null", {as_part(text)}), 7U);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_THAT(folder.files(), ElementsAre("pipe"));
}

TEST(AtomicFile, RecognizesTemporariesByName) {
  EXPECT_EQ(target_of_temporary(".net.h5.tmp-4711"), "net.h5");
  for (const char* other : {"net.h5", ".net.h5", ".net.h5.tmp-", ".net.h5.tmp-4x", "net.h5.tmp-4711", ""})
    EXPECT_EQ(target_of_temporary(other), "") << other;
}

TEST(AtomicFile, WritesIntoTheCurrentFolder) {
  const sample::Folder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const std::string text = "x";
  write_atomically("file", {as_part(text)});
  std::filesystem::current_path(before);
  EXPECT_THAT(folder.files(), ElementsAre("file"));
}

TEST(AtomicFile, NamesAMissingFolder) {
  const sample::Folder folder;
  EXPECT_EQ(failure(folder / "no/last.h5", sample::tiny_cnn()),
            "cannot write '" + (folder / "no/last.h5") + "': No such file or directory");
}

TEST(AtomicFile, KeepsAFolderOfTheSameName) {
  const sample::Folder folder;
  std::filesystem::create_directory(folder / "last.h5");
  EXPECT_THAT(failure(folder / "last.h5", sample::tiny_cnn()), HasSubstr("last.h5': Is a directory"));
  EXPECT_THAT(folder.files(), ElementsAre("last.h5"));
}

TEST(AtomicFile, RemovesTemporariesWithoutAWriter) {
  const sample::Folder folder;
  // With the id of a running process, as for a leftover of another container.
  const std::string left = ".last.h5.tmp-" + std::to_string(getppid()), written = ".last.h5.tmp-17";
  for (const std::string& name : {left, written, std::string(".best.h5.tmp-18"), std::string(".last.h5.tmp-x")})
    std::ofstream(folder / name) << "half a file";
  const int writer = open((folder / written).c_str(), O_WRONLY | O_CLOEXEC);
  struct flock whole {};
  whole.l_type = F_WRLCK;
  ASSERT_EQ(fcntl(writer, F_OFD_SETLK, &whole), 0);
  ASSERT_EQ(failure(folder / "last.h5", sample::tiny_cnn()), "");
  EXPECT_THAT(folder.files(), UnorderedElementsAre("last.h5", written, ".best.h5.tmp-18", ".last.h5.tmp-x"));
  close(writer);
  ASSERT_EQ(failure(folder / "last.h5", sample::tiny_cnn()), "");
  EXPECT_THAT(folder.files(), UnorderedElementsAre("last.h5", ".best.h5.tmp-18", ".last.h5.tmp-x"));
}

/// A search of the folder before each of many files takes quadratic time.
TEST(AtomicFile, OnlyRenamesOneOfManyFiles) {
  const sample::Folder folder;
  const std::string text = "x";
  std::ofstream(folder / ".file.tmp-17") << "half a file";
  synced().clear();
  EXPECT_EQ(write_atomically(folder / "file", {as_part(text)}, Durability::kRenamed), 1U);
  EXPECT_THAT(synced(), ElementsAre());
  EXPECT_THAT(folder.files(), UnorderedElementsAre("file", ".file.tmp-17"));
  write_atomically(folder / "file", {as_part(text)});
  EXPECT_THAT(synced(), testing::SizeIs(2));
  EXPECT_THAT(folder.files(), ElementsAre("file"));
}

/// Threads have the same process id, as processes in two containers may have.
TEST(AtomicFile, SupportsConcurrentWritersOfOnePath) {
  const sample::Folder folder;
  const std::string path = folder / "file";
  const auto write = [&](char letter) {
    const std::string text(10'000, letter);
    for (int i = 0; i < 100; ++i) write_atomically(path, {as_part(text), as_part(text)});
  };
  auto a = std::async(std::launch::async, write, 'a'), b = std::async(std::launch::async, write, 'b');
  EXPECT_NO_THROW(a.get());
  EXPECT_NO_THROW(b.get());
  EXPECT_THAT(folder.files(), ElementsAre("file"));
  const std::vector<std::byte> found = sample::bytes_of(path);
  EXPECT_EQ(found, std::vector<std::byte>(20'000, found.front()));
}

TEST(AtomicFile, AssumesSpaceIfTheFileSystemReportsNone) {
  struct statvfs info {};
  if (statvfs("/proc", &info) != 0 || info.f_blocks != 0) GTEST_SKIP() << "no file system of 0 blocks";
  EXPECT_THAT(failure("/proc/last.h5", sample::tiny_cnn()), HasSubstr("cannot write '/proc/last.h5': No such file"));
}

TEST(AtomicFile, SyncsNewFolders) {
  const sample::Folder folder;
  std::filesystem::create_directory(folder / "runs");
  synced().clear();
  EXPECT_FALSE(create_folders(folder / "runs/001/checkpoints"));
  EXPECT_TRUE(std::filesystem::is_directory(folder / "runs/001/checkpoints"));
  EXPECT_THAT(synced(), UnorderedElementsAre(folder / "runs", folder / "runs/001"));
  synced().clear();
  EXPECT_FALSE(create_folders(folder / "runs/001"));
  EXPECT_THAT(synced(), ElementsAre());
  std::ofstream(folder / "runs/file") << "x";
  EXPECT_EQ(create_folders(folder / "runs/file/below"), std::errc::not_a_directory);
}

TEST(AtomicFile, ASizeLimitKeepsTheOldFile) {
  const sample::Folder folder;
  const graph::Model small = sample::tiny_cnn(5), large = sample::tiny_cnn(500);
  save_checkpoint(folder / "last.h5", small, {}, sample::state_of(small));
  const int status = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{50'000, 50'000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
    const std::string message = failure(folder / "last.h5", large);
    const bool told =
        message.find("cannot write '" + (folder / "last.h5") + "': File too large; the file needs") == 0 &&
        message.find(" free. Free some space") != std::string::npos;
    return told ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  EXPECT_THAT(folder.files(), ElementsAre("last.h5"));
  graph::Model loaded = sample::tiny_cnn(5);
  load_weights(folder / "last.h5", loaded);
  EXPECT_EQ(read_state(folder / "last.h5").arrays.size(), 9U);
}

/// Mounts a file system of 64 KiB at `folder`, in a namespace of this process. Returns false if that is not permitted.
bool mount_small_disk(const std::string& folder) {
  const uid_t user = getuid();
  if (unshare(user == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0) return false;
  mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  return mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=64k") == 0;
}

TEST(AtomicFile, AFullDiskKeepsTheOldFile) {
  const sample::Folder folder;
  constexpr int kNotAllowed = 77;
  const int status = in_child([&] {
    if (!mount_small_disk(folder.path().string())) return kNotAllowed;
    const graph::Model small = sample::tiny_cnn(5);
    const std::string path = folder / "last.h5";
    save_checkpoint(path, small, {}, {});
    // Detected before writing, by the free space.
    const std::string message = failure(path, sample::tiny_cnn(500));
    if (message.find("cannot write '" + path + "': not enough space; the file needs") != 0) return 1;
    if (folder.files() != std::vector<std::string>{"last.h5"}) return 2;
    graph::Model loaded = small;
    load_weights(path, loaded);
    return loaded.weights[0].values == small.weights[0].values ? 0 : 3;
  });
  if (status == kNotAllowed) GTEST_SKIP() << "this process may not mount a file system";
  EXPECT_EQ(status, 0);
}

TEST(AtomicFile, AKilledSaveLeavesAReadableFile) {
  const sample::Folder folder;
  const std::string path = folder / "last.h5";
  const graph::Model model = sample::tiny_cnn(200);
  const CheckpointState state = sample::state_of(model);
  save_checkpoint(path, model, {}, state);
  for (int kill_number = 0; kill_number < 20; ++kill_number) {
    const pid_t child = fork();
    if (child == 0)
      for (;;) save_checkpoint(path, model, {}, state);
    // During ten saves of a few milliseconds each; odd steps cover all phases.
    std::this_thread::sleep_for(std::chrono::microseconds(1000 + 2713 * kill_number));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);

    EXPECT_EQ(read_state(path).arrays.size(), state.arrays.size()) << kill_number;
    graph::Model loaded = sample::tiny_cnn(200);
    load_weights(path, loaded);
    EXPECT_EQ(loaded.weights[0].values, model.weights[0].values);
  }
  save_checkpoint(path, model, {}, state);
  EXPECT_THAT(folder.files(), ElementsAre("last.h5"));
}

}  // namespace
}  // namespace dptrain::formats

/// Replaces the C library's function.
extern "C" int fsync(int file) {
  std::error_code ignored;
  dptrain::formats::synced().push_back(
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file), ignored).string());
  return static_cast<int>(syscall(SYS_fsync, file));
}
