#include "distributed/processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <new>

#include "core/clock.h"
#include "core/format.h"
#include "distributed/fake_transport.h"

namespace dptrain::distributed {
namespace {

using test::FakeNetwork;
using test::in_processes;

TEST(Processes, ReportCountNamesAndHosts) {
  FakeNetwork network(3);
  in_processes(network, [](Processes& processes) {
    EXPECT_EQ(processes.count(), 3);
    EXPECT_EQ(processes.is_first(), processes.process() == 0);
    EXPECT_EQ(processes.name(2), "process 2 (node-1)");
    EXPECT_EQ(processes.hosts(), 2);
  });
  EXPECT_EQ(network.finalized(), 3);
}

TEST(Processes, GatherTheInputsOfAll) {
  for (const auto& [count, per_host] : {std::pair{1, 0}, {2, 0}, {5, 0}, {2, 2}, {5, 5}, {5, 2}}) {
    FakeNetwork network(count, static_cast<std::uint64_t>(count), per_host);
    in_processes(network, [](Processes& processes) {
      for (const std::size_t size : {std::size_t{0}, std::size_t{5}, std::size_t{504}, std::size_t{505},
                                     std::size_t{100000}, (std::size_t{128} << 10) - 1, std::size_t{700000}}) {
        const auto given = [&](int p) {
          return std::string(size + static_cast<std::size_t>(p), static_cast<char>('a' + p));
        };
        const std::vector<std::string> all = processes.gather(given(processes.process()));
        ASSERT_EQ(all.size(), static_cast<std::size_t>(processes.count()));
        for (int p = 0; p < processes.count(); ++p) EXPECT_EQ(all[static_cast<std::size_t>(p)], given(p));
      }
      EXPECT_EQ(processes.broadcast(fmt::format("of {}", processes.process())), "of 0");
    });
    EXPECT_EQ(network.finalized(), count);
  }
}

TEST(Processes, FindGroupsThatShareMemory) {
  const auto groups_of = [](int count, int per_host) {
    FakeNetwork network(count, 1, per_host);
    std::vector<std::vector<int>> groups(static_cast<std::size_t>(count));
    in_processes(network, [&](Processes& one) { groups[static_cast<std::size_t>(one.process())] = one.groups(); });
    for (const std::vector<int>& of_one : groups) EXPECT_EQ(of_one, groups.front());
    return groups.front();
  };
  EXPECT_EQ(groups_of(3, 0), (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(groups_of(4, 2), (std::vector{0, 2, 4}));
  EXPECT_EQ(groups_of(3, 2), (std::vector{0, 2, 3}));
  EXPECT_EQ(groups_of(3, 4), (std::vector{0, 3}));
}

/// Consecutive processes that all reach each other, in both directions.
TEST(MemoryGroups, ContainConsecutiveProcessesThatReachEachOther) {
  EXPECT_EQ(memory_groups({"11", "11"}), (std::vector{0, 2}));
  EXPECT_EQ(memory_groups({"11", "01"}), (std::vector{0, 1, 2}));
  EXPECT_EQ(memory_groups({"110", "111", "011"}), (std::vector{0, 2, 3}));
  EXPECT_EQ(memory_groups({"1010", "0101", "1010", "0101"}), (std::vector{0, 1, 2, 3, 4}));  // alternating hosts
  EXPECT_EQ(memory_groups({"1"}), (std::vector{0, 1}));
}

/// The other processes throw an error of the same kind that names the failed process.
class Failing : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Hosts, Failing, ::testing::Values(0, 2, 4));

TEST_P(Failing, ProcessNotifiesAllOthers) {
  FakeNetwork network(3, 1, GetParam());
  std::atomic<int> notified = 0;
  in_processes(network, [&](Processes& processes) {
    if (processes.process() == 1) {
      processes.fail(Error(ErrorKind::kWrite, "runs/x: no space left on device"));
      EXPECT_FALSE(processes.failure());  // the process has reported its own failure
      return;
    }
    try {
      while (true) processes.gather("");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kWrite);
      EXPECT_STREQ(error.what(), "process 1 (node-0): runs/x: no space left on device");
      ++notified;
    }
    ASSERT_TRUE(processes.failure());
    EXPECT_STREQ(processes.failure()->what(), "process 1 (node-0): runs/x: no space left on device");
    EXPECT_THROW(processes.gather(""), Error);  // also later
  });
  EXPECT_EQ(notified, 2);
  EXPECT_EQ(network.finalized(), 0);
}

TEST_P(Failing, SilentProcessIsDetected) {
  FakeNetwork network(4, 1, GetParam());
  std::atomic<int> notified = 0;
  in_processes(network,
               [&](Processes& processes) {
                 processes.gather("");
                 if (processes.process() == 2) network.silence(2);
                 const Stopwatch watch;
                 try {
                   while (true) processes.gather("");
                 } catch (const Error& error) {
                   EXPECT_EQ(error.kind(), ErrorKind::kDeadline);
                   if (processes.process() != 2) {
                     EXPECT_THAT(error.what(),
                                 ::testing::HasSubstr(processes.name(2) + ": no message from it for 0.3 s"));
                   }
                   ++notified;
                 }
                 EXPECT_TRUE(processes.failure());
                 EXPECT_LT(watch.seconds(), 60);
               },
               {.silence_seconds = 0.3, .shutdown_seconds = 1});
  EXPECT_GE(notified, 3);
}

/// Calls a function from advance(), and counts cancel().
class Custom final : public Exchange {
 public:
  explicit Custom(std::function<Progress(Transport&)> advance) : advance_(std::move(advance)) {}
  Progress advance(Transport& transport) override { return advance_(transport); }
  void cancel(const Error& /*why*/) noexcept override { ++given_up; }

  std::atomic<int> given_up = 0;

 private:
  const std::function<Progress(Transport&)> advance_;
};

TEST(Processes, FlushSubnormalsInExchanges) {
  FakeNetwork network(1);
  in_processes(network, [](Processes& processes) {
    std::promise<float> sum;
    processes.post(std::make_shared<Custom>([&](Transport&) {
      volatile float a = 1.5e-38F, b = -1.2e-38F;
      sum.set_value(a + b);
      return Exchange::Progress::kDone;
    }));
    EXPECT_EQ(sum.get_future().get(), 0);
  });
}

TEST_P(Failing, ProcessWithoutMemoryNotifiesAllOthers) {
  FakeNetwork network(3, 1, GetParam());
  std::atomic<int> notified = 0;
  in_processes(
      network,
      [&](Processes& processes) {
        std::vector<std::shared_ptr<Custom>> all;
        if (processes.process() == 2) {
          const auto always = [](Exchange::Progress progress) { return [progress](Transport&) { return progress; }; };
          all = {std::make_shared<Custom>([turns = 0](Transport&) mutable {
                   return ++turns < 5 ? Exchange::Progress::kWaits : Exchange::Progress::kDone;
                 }),
                 std::make_shared<Custom>(always(Exchange::Progress::kWaits)),
                 std::make_shared<Custom>([turns = 0](Transport&) mutable -> Exchange::Progress {
                   if (++turns == 5) throw std::bad_alloc();
                   return Exchange::Progress::kWaits;
                 })};
          for (const auto& exchange : all) processes.post(exchange);
        }
        try {
          while (true) processes.gather("");
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::kMemory);
          EXPECT_STREQ(error.what(),
                       processes.process() == 2 ? "out of memory" : (processes.name(2) + ": out of memory").c_str());
          ++notified;
        }
        processes.failure();
        processes.wait_until_drained();
        for (std::size_t i = 1; i < all.size(); ++i) EXPECT_EQ(all[i]->given_up, 1);
      },
      {.shutdown_seconds = 1});
  EXPECT_EQ(notified, 3);
}

TEST(Processes, RejectMessagesOfImpossibleSize) {
  FakeNetwork network(2);
  in_processes(network,
               [](Processes& processes) {
                 std::string head(512, '\xFF');  // size of the message
                 if (processes.process() == 1)
                   processes.post(std::make_shared<Custom>([&, ticket = Ticket{0}](Transport& transport) mutable {
                     if (ticket == 0) ticket = transport.send(head.data(), head.size(), 0, kGatherHead);
                     return transport.done(ticket) ? Exchange::Progress::kDone : Exchange::Progress::kWaits;
                   }));
                 try {
                   if (processes.process() == 0) processes.gather("");
                   processes.wait_until_drained();
                 } catch (const Error& error) {
                   EXPECT_EQ(processes.process(), 0);
                   EXPECT_THAT(error.what(),
                               ::testing::HasSubstr("process 1 announces a message of 18446744073709551615 bytes"));
                 }
                 EXPECT_EQ(processes.failure().has_value(), processes.process() == 1);
               },
               {.shutdown_seconds = 1});
}

/// The first process that ends waits for the others.
TEST(Processes, WaitForEachOtherAtTheEnd) {
  FakeNetwork network(2);
  std::atomic<bool> late = false;
  std::thread other([&] {
    const auto process = test::fake_process(network, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    late = true;
  });
  { const auto process = test::fake_process(network, 0); }
  EXPECT_TRUE(late);
  other.join();
  EXPECT_EQ(network.finalized(), 2);
}

TEST(Processes, RethrowTheErrorOfOpen) {
  EXPECT_THROW(Processes([]() -> std::unique_ptr<Transport> { throw Error(ErrorKind::kDevice, "no MPI"); }, {}), Error);
}

}  // namespace
}  // namespace dptrain::distributed
