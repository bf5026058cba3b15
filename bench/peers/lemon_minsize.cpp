/* lemon_minsize.cpp - exact min-size assignment by LEMON's NetworkSimplex, for comparison.
 *
 *   lemon_minsize ROWS.npy CENTERS.npy --ratio R
 *
 * Maximises the sum of x_i . c_(label i) with at least m = floor(R n / k) rows in every cluster,
 * as a minimum cost flow: each row supplies 1, each cluster keeps m and passes the rest to a
 * sink. This form needs no lower bounds on arcs, and the scores are made a row at a time, so
 * that LEMON's memory is its graph and its solver's arrays and nothing of ours.
 * Prints one JSON line. */
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <lemon/network_simplex.h>
#include <lemon/static_graph.h>

using Graph = lemon::StaticDigraph;
using Solver = lemon::NetworkSimplex<Graph, int, std::int64_t>;

static const double cost_scale = 1e9; /* scores become integers: NetworkSimplex is exact on them */

static double now()
{
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

/* ---- input ------------------------------------------------------------------------------ */

struct Matrix {
    int rows = 0, cols = 0;
    std::vector<float> x; /* [rows][cols] */
};

/* A version 1 .npy of little-endian f4 in C order, as numpy.save writes it. */
static Matrix load_npy(const char *path)
{
    std::ifstream in(path, std::ios::binary);
    char head[10];
    if (!in.read(head, 10) || std::memcmp(head, "\x93NUMPY\x01", 7) != 0)
        throw std::runtime_error(std::string(path) + ": not a version 1 .npy file");
    std::string text(std::size_t((unsigned char)head[8] | (unsigned char)head[9] << 8), ' ');
    in.read(&text[0], std::streamsize(text.size()));
    Matrix m;
    std::size_t shape = text.find("'shape': (");
    if (text.find("'<f4'") == text.npos || text.find("False") == text.npos || shape == text.npos ||
        std::sscanf(text.c_str() + shape, "'shape': (%d, %d)", &m.rows, &m.cols) != 2 ||
        m.rows < 1 || m.cols < 1)
        throw std::runtime_error(std::string(path) + ": not a matrix of f4 in C order");
    m.x.resize(std::size_t(m.rows) * std::size_t(m.cols));
    if (!in.read(reinterpret_cast<char *>(m.x.data()), std::streamsize(m.x.size() * sizeof(float))))
        throw std::runtime_error(std::string(path) + ": truncated");
    return m;
}

/* ---- the network: rows 0..n-1, clusters n..n+k-1, sink n+k --------------------------------- */

/* Arcs in the order that StaticDigraph wants, made on the fly: row i to every cluster, then
 * every cluster to the sink. */
class ArcIterator {
public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::pair<int, int>;
    using difference_type = std::ptrdiff_t;
    using pointer = const value_type *;
    using reference = const value_type &;

    /* The first arc of this row; row n: the arcs to the sink, row n + 1: the end. */
    ArcIterator(int n, int k, int row) : n_(n), k_(k), row_(row), cluster_(0) { set(); }
    reference operator*() const { return arc_; }
    pointer operator->() const { return &arc_; }
    ArcIterator &operator++()
    {
        if (++cluster_ == k_) {
            cluster_ = 0;
            row_++;
        }
        set();
        return *this;
    }
    bool operator==(const ArcIterator &o) const { return row_ == o.row_ && cluster_ == o.cluster_; }
    bool operator!=(const ArcIterator &o) const { return !(*this == o); }

private:
    void set()
    {
        arc_ = row_ < n_ ? value_type(row_, n_ + cluster_) : value_type(n_ + cluster_, n_ + k_);
    }
    int n_, k_, row_, cluster_;
    value_type arc_;
};

/* Costs of arcs, a row of scores at a time. LEMON reads the map once, in arc order. */
class CostMap {
public:
    using Key = Graph::Arc;
    using Value = std::int64_t;

    CostMap(const Matrix &x, const Matrix &c, double *seconds)
        : x_(x), k_(c.rows), seconds_(seconds), turned_(c.x.size()), score_(std::size_t(c.rows))
    {
        for (int j = 0; j < c.rows; j++)
            for (int d = 0; d < c.cols; d++)
                turned_[std::size_t(d) * k_ + j] = c.x[std::size_t(j) * c.cols + d];
    }
    Value operator[](const Key &arc) const
    {
        int id = Graph::index(arc), row = id / k_;
        if (row >= x_.rows)
            return 0;
        if (row != row_)
            fill(row);
        return -std::llround(double(score_[std::size_t(id % k_)]) * cost_scale);
    }

private:
    void fill(int row) const
    {
        double started = now();
        std::fill(score_.begin(), score_.end(), 0.0f);
        for (int d = 0; d < x_.cols; d++) {
            const float *c = &turned_[std::size_t(d) * k_];
            float v = x_.x[std::size_t(row) * x_.cols + d];
            for (int j = 0; j < k_; j++)
                score_[j] += v * c[j];
        }
        row_ = row;
        *seconds_ += now() - started;
    }
    const Matrix &x_;
    int k_;
    double *seconds_;
    std::vector<float> turned_; /* [dim][k] */
    mutable std::vector<float> score_; /* [k] of row_ */
    mutable int row_ = -1;
};

/* ---- output ----------------------------------------------------------------------------- */

static std::vector<int> labels_of(const Solver &solver, const Graph &g, int n, int k)
{
    std::vector<int> label(std::size_t(n), -1);
    for (std::int64_t a = 0; a < std::int64_t(n) * k; a++)
        if (solver.flow(g.arc(int(a))) > 0)
            label[std::size_t(a / k)] = int(a % k);
    return label;
}

static double objective(const Matrix &x, const Matrix &c, const std::vector<int> &label)
{
    double sum = 0;
    for (int i = 0; i < x.rows; i++)
        for (int d = 0; d < x.cols; d++)
            sum += double(x.x[std::size_t(i) * x.cols + d]) *
                   double(c.x[std::size_t(label[std::size_t(i)]) * c.cols + d]);
    return sum;
}

static int smallest(const std::vector<int> &label, int k)
{
    std::vector<int> size(std::size_t(k), 0);
    for (int l : label)
        size[std::size_t(l)]++;
    int least = size[0];
    for (int s : size)
        least = std::min(least, s);
    return least;
}

/* Largest resident set of this process so far, bytes. */
static long long peak_rss()
{
    std::ifstream in("/proc/self/status");
    std::string word;
    long long kb = 0;
    while (in >> word)
        if (word == "VmHWM:")
            in >> kb;
    return kb * 1024;
}

static int solve(const char *rows, const char *centers, double ratio)
{
    Matrix x = load_npy(rows), c = load_npy(centers);
    int n = x.rows, k = c.rows, least = int(std::floor(ratio * n / k));
    if (x.cols != c.cols)
        throw std::runtime_error("rows and centers have different dimensions");

    double started = now(), scoring = 0;
    Graph g;
    g.build(n + k + 1, ArcIterator(n, k, 0), ArcIterator(n, k, n + 1));
    Graph::NodeMap<int> supply(g);
    for (int v = 0; v <= n + k; v++)
        supply[g.node(v)] = v < n ? 1 : v < n + k ? -least : -(n - k * least);
    Solver solver(g);
    solver.supplyMap(supply).costMap(CostMap(x, c, &scoring));
    double built = now();
    if (solver.run() != Solver::OPTIMAL)
        throw std::runtime_error("LEMON found no optimal solution");
    double solved = now();

    std::vector<int> label = labels_of(solver, g, n, k);
    if (smallest(label, k) < least)
        throw std::runtime_error("LEMON's solution misses a minimal size");
    std::printf("{\"seconds\": %.6f, \"build_seconds\": %.6f, \"solve_seconds\": %.6f, "
                "\"score_seconds\": %.6f, \"objective\": %.9f, \"size_min\": %d, "
                "\"rss_bytes\": %lld}\n",
                solved - started - scoring, built - started - scoring, solved - built, scoring,
                objective(x, c, label), smallest(label, k), peak_rss());
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 5 || std::strcmp(argv[3], "--ratio") != 0) {
        std::fprintf(stderr, "usage: lemon_minsize ROWS.npy CENTERS.npy --ratio R\n");
        return 2;
    }
    try {
        return solve(argv[1], argv[2], std::atof(argv[4]));
    } catch (const std::exception &e) {
        std::fprintf(stderr, "lemon_minsize: %s\n", e.what());
        return 1;
    }
}
