#include "runtime/cli/command.h"

int main(int argc, char** argv) { return axrun::cli::command(argc, argv); }
