// program.cpp - coke.h from C++: sized structs, options by name, callbacks.
#include <coke.h>

#include <cstdio>
#include <vector>

static int count(void *user, const coke_progress *)
{
    ++*static_cast<int *>(user);
    return COKE_ANSWER_CONTINUE;
}

int main()
{
    const int64_t n = 600;
    const int32_t dim = 8;
    std::vector<float> x(n * dim);
    std::vector<int32_t> labels(n);
    coke_options *options = nullptr;
    coke_cluster *c = nullptr;
    coke_cluster_input in = COKE_INIT(coke_cluster_input);
    coke_callbacks callbacks = COKE_INIT(coke_callbacks);
    int calls = 0;
    callbacks.user = &calls;
    callbacks.progress = count;

    int rc = coke_synthetic_fill(x.data(), n, dim, 5, 1);
    if (!rc)
        rc = coke_cluster_array(x.data(), n, dim, 4, nullptr, labels.data(), nullptr);
    if (!rc)
        rc = coke_rows_from_array(&in.rows, x.data(), n, dim);
    if (!rc)
        rc = coke_options_new(&options, "cluster");
    if (!rc)
        rc = coke_options_set(options, "k", "4");
    if (!rc)
        rc = coke_cluster_run(&c, &in, options, &callbacks);
    std::vector<int32_t> again(n);
    if (!rc)
        rc = coke_cluster_labels(c, 0, again.data());
    if (!rc && (labels != again || calls == 0 || coke_version_number() != COKE_VERSION_NUMBER))
        rc = COKE_EFAIL;
    std::printf(rc ? "program: %d, %s\n" : "program: fine\n", rc, coke_last_error());
    coke_cluster_free(c);
    coke_options_free(options);
    coke_rows_free(in.rows);
    return rc != 0;
}
