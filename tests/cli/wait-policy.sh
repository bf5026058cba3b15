# shellcheck shell=bash
# The program waits passively unless the user says how; an empty variable says nothing.
mkfifo rows
# A shell that has not yet become the program must not show the values of the test's own run.
unset OMP_WAIT_POLICY GOMP_SPINCOUNT
policy() {
    env "$@" coke cluster - -k 2 -o out <rows >/dev/null 2>&1 &
    exec 9>rows
    for _ in $(seq 100); do # until it has started itself again, or for two seconds
        seen=$(tr '\0' '\n' 2>/dev/null </proc/$!/environ | grep -E '^(OMP_WAIT_POLICY|GOMP_SPINCOUNT)=.')
        [ -z "$seen" ] || break
        sleep 0.02
    done
    echo "$seen"
    exec 9>&-
    wait $!
}
policy -u OMP_WAIT_POLICY
policy OMP_WAIT_POLICY=
policy OMP_WAIT_POLICY= GOMP_SPINCOUNT=
policy OMP_WAIT_POLICY=active
policy -u OMP_WAIT_POLICY GOMP_SPINCOUNT=100
exit 0
