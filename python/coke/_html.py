"""How clusterings, models and runs show themselves in a notebook: plain HTML and SVG."""
import base64
import html

import numpy as np

from ._exemplars import largest, some, spread

STYLE = "font-family: sans-serif; font-size: 13px; max-width: 640px"


FIRST = "; color:gray; white-space:nowrap"
CELL = "<td style='text-align:left; padding:1px 8px 1px 0%s'>%s</td>"
PICTURES, SIDE, MOST_IMAGES = 8, 56, 200000  # per cluster; pixels; larger sets take long to open


class Markup(str):
    """Text of a cell that is HTML already."""


def table(rows, head=()):
    """Rows of text or Markup. The first column is gray."""
    def cell(i, value):
        return CELL % (FIRST if i == 0 else "",
                       value if isinstance(value, Markup) else html.escape(str(value)))
    lines = ["".join(CELL % ("; color:gray", html.escape(h)) for h in head)] if head else []
    lines += ["".join(cell(i, v) for i, v in enumerate(row)) for row in rows]
    return "<table>%s</table>" % "".join("<tr>%s</tr>" % line for line in lines)


def exemplars(source, labels, sizes, centers, metric):
    """The largest clusters with their most typical rows, if the rows are still there."""
    rows = [("cluster %d" % i, int(sizes[i]), ", ".join(names))
            for i, names in some(source, labels, sizes, centers, metric)]
    return table(rows, ("", "size", "typical rows")) if rows else ""


def bars(sizes, bound=None, width=600, height=90):
    """Sizes in descending order, at most 200 bars, and the smallest lower bound as a line."""
    sizes = np.sort(np.asarray(sizes))[::-1]
    step = max(1, -(-len(sizes) // 200))
    shown = sizes[::step]
    top = max(int(shown[0]), 1) if len(shown) else 1
    w = width / max(len(shown), 1)
    rects = "".join("<rect x='%.2f' y='%.2f' width='%.2f' height='%.2f' fill='#4878a8'/>" %
                    (i * w, height - height * s / top, max(w - .5, .5), height * s / top)
                    for i, s in enumerate(shown))
    line = "" if not bound else \
        "<line x1='0' x2='%d' y1='%.2f' y2='%.2f' stroke='#c44' stroke-dasharray='4'/>" % (
            width, height - height * bound / top, height - height * bound / top)
    return "<svg width='%d' height='%d' role='img' aria-label='sizes of the clusters'>%s%s</svg>" \
        % (width, height, rects, line)


def curve(values, width=600, height=90, label="loss"):
    values = np.asarray(values, dtype=float)
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return ""
    low, high = values.min(), values.max()
    y = height - (values - low) / (high - low or 1) * (height - 4) - 2
    x = np.linspace(0, width, len(values))
    points = " ".join("%.1f,%.1f" % p for p in zip(x, y))
    return "<svg width='%d' height='%d' role='img' aria-label='%s'><polyline points='%s' " \
        "fill='none' stroke='#4878a8'/></svg>" % (width, height, label, points)


def box(title, *parts):
    return "<div style='%s'><b>%s</b>%s</div>" % (STYLE, html.escape(title), "".join(parts))


def sizes_text(sizes, bound):
    """The bound is the dashed line of the bars."""
    text = "%d .. %d, median %d" % (sizes.min(), sizes.max(), np.median(sizes))
    return text + ("; at least %d (dashed)" % bound if bound else "")


def model_html(model):
    rows = [("clusters", model.n_clusters), ("columns", model.dim), ("metric", model.metric)]
    picture = ""
    if model.sizes is not None:
        bound = int(model.min_sizes.min())
        rows.append(("sizes", sizes_text(model.sizes, bound)))
        picture = bars(model.sizes, bound)
    return box("coke.Model", table(rows), picture)


def clustering_html(c):
    s, bound = c.summary, int(c.model.min_sizes.min())
    rows = [("rows", s["n"]), ("clusters", s["k"]), ("sizes", sizes_text(c.sizes, bound)),
            ("objective", "%.6g" % c.objective), ("epochs", s["epochs"])]
    if c.certificate:
        rows.append(("certificate", "gap %.3g of %.6g" % (c.certificate.gap, c.certificate.dual)))
    return box("coke.Clustering", table(rows), bars(c.sizes, bound),
               exemplars(c._source, c.labels, c.sizes, c.centers, c.model.metric))


def estimator_html(m):
    n = int(m.sizes_.sum())  # of partial_fit: all batches
    bound = int(np.floor(m.model_.min_sizes.min() * n / float(m.model_.meta["n"])))
    rows = [("rows", n), ("sizes", sizes_text(m.sizes_, bound)), ("epochs", m.n_iter_)]
    certificate = getattr(m, "certificate_", None)
    if certificate:
        rows.append(("certificate", "gap %.3g of %.6g" % (certificate.gap, certificate.dual)))
    return box(repr(m), table(rows), bars(m.sizes_, bound),
               exemplars(m._source, m.labels_, m.sizes_, m.cluster_centers_, m.model_.metric))


def run_html(run):
    rows = [("folder", run.path), ("epochs", run.epoch),
            ("heads", ", ".join("k = %d" % k for k in run.n_clusters))]
    loss = [line.get("loss", np.nan) for line in run.metrics_rows()]
    if loss:
        rows.append(("loss", "%.4f" % loss[-1]))
    return box("coke.Run", table(rows), curve(loss), pictures(run))


def pictures(run):
    """Some images of the largest clusters of the first head; "" if they cannot be shown."""
    if not run.n_clusters:
        return ""
    labels = run.labels()
    if len(labels) > MOST_IMAGES:
        return ""
    try:
        images = run.images()
    except (OSError, ValueError):  # moved, changed, or an array that was not kept
        return ""
    if len(images) != len(labels):
        return ""
    sizes = np.bincount(labels[labels >= 0], minlength=run.n_clusters[0])
    rows = []
    for cluster in largest(sizes):
        members = spread(np.flatnonzero(labels == cluster), PICTURES)
        if len(members):
            data = base64.b64encode(images.sheet(members, len(members), SIDE)).decode()
            rows.append(("cluster %d" % cluster, int(sizes[cluster]),
                         Markup("<img alt='' src='data:image/jpeg;base64,%s'>" % data)))
    return table(rows, ("", "size", "some of its images"))
