# shellcheck shell=bash
head -c 10000 /dev/zero > data_batch_1.bin
coke data info data_batch_1.bin
