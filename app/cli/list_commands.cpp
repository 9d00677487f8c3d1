#include "app/cli/listing.h"
#include "app/cli/text.h"
#include "app/commands/registry.h"
#include "app/input/file.h"

namespace convlens::cli {

int list_commands() {
    TextTable table({{"command", false, 60}, {"key", false, 16}, {"", false, 400}});
    for (const commands::Command& command : commands::all_commands()) {
        const std::string arguments = command.arguments;
        table.add(
            {command.name + (arguments.empty() ? arguments : " " + arguments), command.key, command.help});
    }
    input::write_file("-", table.text() +
                               "\nOne command a line in a script (convlens view --script FILE); words with "
                               "blanks in \"quotes\"; # starts "
                               "a comment.\n");
    return exit_done;
}

}  // namespace convlens::cli
