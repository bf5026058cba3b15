# shellcheck shell=bash
# A folder without rows is no input.
mkdir folder
echo text >folder/notes.md
coke cluster folder -k 6 -o out -q
