#include "cli/help.h"

#include <gmock/gmock.h>

#include "cli/commands.h"

namespace dptrain::cli {
namespace {

using testing::HasSubstr;

TEST(ManPage, RoffEscapesText) {
  EXPECT_EQ(roff(".dot 'a' --b \\n"), "\\&.dot 'a' \\-\\-b \\en");
  EXPECT_EQ(roff("a.b\n'c"), "a.b\n\\&'c");
}

TEST(ManPage, OfACommandContainsItsHelp) {
  App app;
  add_commands(app);
  for (const Command& command : app.commands()) {
    const std::string page = man_page(app, command);
    EXPECT_THAT(page, HasSubstr(".TH DPTRAIN\\-")) << command.name();
    EXPECT_THAT(page, HasSubstr("dptrain\\-" + command.name() + " \\- " + roff(command.summary())));
    for (const Argument& argument : command.arguments()) {
      EXPECT_THAT(page, HasSubstr(roff(argument.title()))) << command.name();
      EXPECT_THAT(page, HasSubstr(roff(argument.doc))) << command.name() << " " << argument.title();
    }
    for (const std::string& line : command.examples()) EXPECT_THAT(page, HasSubstr(roff(line)));
    EXPECT_THAT(man_page(app), HasSubstr(roff(command.summary())));
  }
  EXPECT_THAT(man_page(app), HasSubstr(".B 143\nstopped by SIGTERM\n"));
}

}  // namespace
}  // namespace dptrain::cli
