"""The colours of pages and plots, as variables of a style sheet."""

LIGHT = ("--ink:#1c1c1c;--soft:#5a5a5a;--grid:#d9d9d9;--paper:#ffffff;--program-0:#0062a8;--program-1:#c8500a;"
         "--program-2:#0a7d57;--program-3:#a0458c;--program-4:#8a6a00;--program-5:#4b4b4b;--program-6:#b3232b;"
         "--program-7:#1b7f9c")
DARK = ("--ink:#e6e6e6;--soft:#a6a6a6;--grid:#3a3d41;--paper:#15171a;--program-0:#5fb2f2;--program-1:#ff9a5c;"
        "--program-2:#4fcf9f;--program-3:#e69ad3;--program-4:#e0c04a;--program-5:#b8b8b8;--program-6:#ff8088;"
        "--program-7:#6fd0ea")
