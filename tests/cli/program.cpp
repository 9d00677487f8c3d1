#include "tests/cli/program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/support/scratch_folder.h"

namespace convlens::test {

ProgramRun run_program(const std::vector<std::string>& arguments, const std::string& stdout_path) {
    const ScratchFolder folder;
    const std::string out = stdout_path.empty() ? folder.path("out") : stdout_path;
    std::vector<std::string> words = {CONVLENS_PROGRAM};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        ::unsetenv("DISPLAY");
        ::unsetenv("WAYLAND_DISPLAY");
        const int in = ::open("/dev/null", O_RDONLY),
                  to = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600),
                  err = ::open(folder.path("err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        ::dup2(in, 0);
        ::dup2(to, 1);
        ::dup2(err, 2);
        ::execv(argv[0], argv.data());
        ::_exit(127);
    }
    int state = 0;
    ::waitpid(child, &state, 0);
    ProgramRun run;
    run.status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    if (stdout_path.empty()) run.out = folder.read("out");
    run.err = folder.read("err");
    return run;
}

}  // namespace convlens::test
