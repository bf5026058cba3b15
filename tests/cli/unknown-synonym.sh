# shellcheck shell=bash
# The names that other programs give to options are met with the names here.
for name in lr wd bs clusters num_workers; do
    coke train synthetic:n=100 --$name 3 -o out
    [ $? = 2 ] || exit 1
done
coke cluster x.npy --n_clusters 6 -o out
coke train synthetic:n=100 -k 3 --normalize 0.5,0.2,0.1 -o out
