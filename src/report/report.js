/* report.js - interaction of a report: values under the pointer, sorting, search, details of a
 * cluster, a map that zooms. Embedded in the page at build time; the page is readable without it.
 *
 * #data is written by page_data.c, the JSON beside each chart by chart.c. A "place" is an index
 * into data.names and the tile number on the sheets; -1 = without a picture. Text from data is
 * only ever assigned to textContent or an attribute value, never parsed as HTML. */
(function () {
  "use strict";
  var data = JSON.parse(document.getElementById("data").textContent);
  var root = document.documentElement;
  var tip = document.getElementById("tip");
  var dialog = document.getElementById("detail");
  root.classList.add("scripted");

  /* An HTML element. "text" and "click" are not attributes; null children are skipped. */
  function el(name, attributes, children) {
    var e = document.createElement(name);
    Object.keys(attributes || {}).forEach(function (key) {
      if (key === "text") e.textContent = attributes[key];
      else if (key === "click") e.addEventListener("click", attributes[key]);
      else e.setAttribute(key, attributes[key]);
    });
    (children || []).forEach(function (c) { if (c) e.appendChild(c); });
    return e;
  }

  function svg(name, attributes) {
    var e = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.keys(attributes).forEach(function (key) { e.setAttribute(key, attributes[key]); });
    return e;
  }

  /* Four significant digits, or the given decimals; unknown = a dash. */
  function number(v, digits) {
    if (v === null || v === undefined) return "\u2013";
    return digits === undefined ? String(Number(v.toPrecision(4))) : v.toFixed(digits);
  }

  /* ---- light and dark ---- */

  /* The choice is stored per browser, for all reports. */
  function makeThemeSwitch() {
    var themes = ["auto", "light", "dark"], at = 0;
    var button = el("button", { type: "button", id: "theme", title: "light, dark, or the system setting" });
    function show() {
      if (at) root.setAttribute("data-theme", themes[at]);
      else root.removeAttribute("data-theme");
      button.textContent = "theme: " + themes[at];
    }
    try { at = Math.max(0, themes.indexOf(localStorage.getItem("coke-theme"))); } catch (e) { at = 0; }
    button.addEventListener("click", function () {
      at = (at + 1) % 3;
      try { localStorage.setItem("coke-theme", themes[at]); } catch (e) { /* storage may be disabled */ }
      show();
    });
    show();
    document.getElementById("switches").appendChild(button);
  }

  /* ---- tool tip ---- */

  /* One tip for the whole page, near the pointer and inside the window. */
  function showTip(x, y, nodes) {
    tip.textContent = "";
    nodes.forEach(function (n) { if (n) tip.appendChild(n); });
    tip.hidden = false;
    var box = tip.getBoundingClientRect();
    var left = x + 14 + box.width > innerWidth ? x - 14 - box.width : x + 14;
    tip.style.left = Math.max(4, left) + "px";
    tip.style.top = Math.max(4, Math.min(y + 12, innerHeight - box.height - 6)) + "px";
  }

  function hideTip() { tip.hidden = true; }

  /* ---- pictures ---- */

  /* CSS selects the sheet by class and the tile by --x and --y. */
  function setTile(e, item) {
    var tile = item % data.tiles;
    e.className = "t s" + Math.floor(item / data.tiles);
    e.style.setProperty("--x", tile % data.columns);
    e.style.setProperty("--y", Math.floor(tile / data.columns));
  }

  /* The thumbnail of a place, or its name if the page has no pictures. */
  function picture(item) {
    if (!data.pictures) return el("span", { class: "chip", text: data.names[item] });
    var e = el("i", { role: "img", title: data.names[item], "aria-label": data.names[item] });
    setTile(e, item);
    return e;
  }

  function className(c) { return data.classes && c >= 0 ? data.classes[c] : ""; }

  function clusterName(head, c) {
    var name = head.major ? className(head.major[c]) : "";
    return name ? "cluster " + c + " \u00b7 " + name : "cluster " + c;
  }

  /* Places of up to max members: the nearest, or random ones if there are no vectors. */
  function members(head, c, max) {
    var list = (head.nearest || head.random)[c], out = [];
    for (var i = 0; i < list.length && out.length < max; i += 2) out.push(list[i]);
    return out;
  }

  function strip(head, c, max) {
    if (!data.pictures) return null;
    return el("span", { class: "strip" }, members(head, c, max).map(picture));
  }

  /* ---- charts ---- */

  /* Binary search in the ascending xs. */
  function nearestIndex(xs, x) {
    var low = 0, high = xs.length - 1;
    while (low < high) {
      var middle = (low + high) >> 1;
      if (xs[middle] < x) low = middle + 1; else high = middle;
    }
    return low > 0 && x - xs[low - 1] < xs[low] - x ? low - 1 : low;
  }

  /* Adds the values under the pointer, or under a cursor moved by the arrow keys. */
  function makeChart(figure) {
    var source = figure.querySelector("script");
    var drawing = figure.querySelector("svg");
    if (!source) return;
    var chart = JSON.parse(source.textContent), frame = chart.frame, box = chart.box;
    var group = svg("g", {}), at = null, curves;
    curves = chart.curves.filter(function (c) {
      return c.y.some(function (y) { return y !== null; }) && !(c.faint && chart.curves.length > 1);
    });
    if (!curves.length) return;
    drawing.appendChild(group);
    /* Data to SVG units, as in chart.c. */
    function px(x) { return box[0] + (x - frame[0]) / (frame[1] - frame[0]) * (box[2] - box[0]); }
    function py(y) { return box[3] - (y - frame[2]) / (frame[3] - frame[2]) * (box[3] - box[1]); }
    /* Index of the known value nearest to i: curves may have gaps. */
    function known(c, i) {
      if (c.y[i] !== null) return i;
      for (var d = 1; d < c.y.length; d++) {
        if (c.y[i - d] !== undefined && c.y[i - d] !== null) return i - d;
        if (c.y[i + d] !== undefined && c.y[i + d] !== null) return i + d;
      }
      return i;
    }
    function show(x, clientX, clientY) {
      group.textContent = "";
      var lines = [], where = null;
      curves.forEach(function (c) {
        var i = known(c, nearestIndex(c.x, x));
        if (where === null) where = c.x[i];
        var value = (c.low ? number(c.low[i]) + " to " : "") + number(c.y[i]);
        group.appendChild(svg("circle", { class: "spot f" + c.color, r: 4, cx: px(c.x[i]), cy: py(c.y[i]) }));
        lines.push(el("div", {}, [el("i", { class: "key k" + c.color }), document.createTextNode(c.name + ": " + value)]));
      });
      group.insertBefore(svg("path", { class: "cursor", d: "M" + px(where) + " " + box[1] + "V" + box[3] }), group.firstChild);
      at = where;
      showTip(clientX, clientY, [el("b", { text: chart.x + " " + number(where) })].concat(lines));
    }
    function hide() { group.textContent = ""; hideTip(); }
    drawing.addEventListener("pointermove", function (e) {
      var r = drawing.getBoundingClientRect();
      var x = (e.clientX - r.left) / r.width * drawing.viewBox.baseVal.width;
      show(frame[0] + (x - box[0]) / (box[2] - box[0]) * (frame[1] - frame[0]), e.clientX, e.clientY);
    });
    drawing.addEventListener("pointerleave", hide);
    drawing.addEventListener("blur", hide);
    drawing.addEventListener("keydown", function (e) {
      var step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0, c = curves[0];
      if (!step) return;
      e.preventDefault();
      var i = at === null ? (step > 0 ? 0 : c.x.length - 1) : nearestIndex(c.x, at) + step;
      while (i > 0 && i < c.x.length - 1 && c.y[i] === null) i += step;
      i = Math.max(0, Math.min(c.x.length - 1, i));
      var r = drawing.getBoundingClientRect();
      show(c.x[i], r.left + px(c.x[i]) / drawing.viewBox.baseVal.width * r.width, r.top + 20);
    });
  }

  /* ---- details of a cluster ---- */

  var open = null; /* {h, c}: head and cluster in the dialog */

  /* list: [place, value, ...]; members of another class than the cluster's are marked. */
  function gallery(h, c, list, what) {
    var head = data.heads[h], items = [];
    for (var i = 0; i < list.length; i += 2) {
      var item = list[i], value = list[i + 1], truth = data.truth ? data.truth[item] : -1;
      var other = head.major && truth >= 0 && truth !== head.major[c];
      var words = (value === null ? "" : number(value, 2) + " ") + (other ? className(truth) : "");
      items.push(el("figure", { class: (other ? "other" : "") + (data.pictures ? "" : " plain"), title: data.names[item] + (value === null ? "" : "\n" + what + " " + value) + (truth >= 0 ? "\nclass " + className(truth) : "") },
        [picture(item), data.pictures || value !== null ? el("figcaption", { text: words }) : null]));
    }
    return el("div", { class: "gallery" }, items);
  }

  function statistics(head, c) {
    var pairs = [["size", head.size[c] + (head.size[c] < head.min[c] ? " (below min size)" : "")], ["min size", head.min[c]]];
    if (head.purity) pairs.push(["purity", number(head.purity[c], 3)]);
    if (head.tight) pairs.push(["tightness", number(head.tight[c], 4)]);
    pairs.push(["dual", number(head.dual[c])]);
    return el("dl", { class: "stats" }, pairs.map(function (p) {
      return el("div", {}, [el("dt", { text: p[0] }), el("dd", { text: p[1] })]);
    }));
  }

  /* The most frequent classes of a cluster, as bars. */
  function classBars(head, c) {
    var list = head.top[c], bars = el("div", { class: "bars" });
    for (var i = 0; i < list.length; i += 2) {
      var percent = 100 * list[i + 1] / head.size[c], bar = el("i");
      bar.style.setProperty("--w", percent + "%");
      bars.appendChild(el("span", { text: className(list[i]) }));
      bars.appendChild(bar);
      bars.appendChild(el("span", { text: list[i + 1] + " (" + percent.toFixed(0) + " %)" }));
    }
    return bars;
  }

  /* Buttons that open the nearest clusters. */
  function nearClusters(h, c) {
    var head = data.heads[h], list = head.near[c], out = el("div", { class: "near" });
    for (var i = 0; i < list.length; i += 2)
      (function (other, similarity) {
        out.appendChild(el("button", { type: "button", click: function () { showDetail(h, other); } },
          [strip(head, other, 3), el("span", { text: clusterName(head, other) + " (" + number(similarity, 2) + ")" })]));
      })(list[i], list[i + 1]);
    return out;
  }

  /* The next or previous visible row in the current sort order, or null. */
  function neighbourRow(h, c, step) {
    var row = document.getElementById("h" + h + "c" + c);
    do row = step > 0 ? row.nextElementSibling : row.previousElementSibling;
    while (row && row.hidden);
    return row && !row.classList.contains("head") ? row : null;
  }

  function move(step) {
    var row = open && neighbourRow(open.h, open.c, step);
    if (row) showDetail(open.h, Number(row.id.split("c")[1]));
  }

  function part(title, small, content) {
    return [el("h3", {}, [document.createTextNode(title + " "), el("small", { text: small })]), content];
  }

  /* Fills and opens the dialog; the address then links to the cluster. */
  function showDetail(h, c) {
    var head = data.heads[h], parts = [];
    open = { h: h, c: c };
    dialog.textContent = "";
    var body = el("div", { class: "detail" }, [el("header", {}, [
      el("h2", { id: "detail-title", text: clusterName(head, c) }),
      el("button", { type: "button", text: "\u2190", "aria-label": "previous cluster", id: "before", click: function () { move(-1); } }),
      el("button", { type: "button", text: "\u2192", "aria-label": "next cluster", id: "after", click: function () { move(1); } }),
      el("button", { type: "button", text: "\u2715", "aria-label": "close", id: "close", click: function () { dialog.close(); } })])]);
    parts = parts.concat([statistics(head, c)]);
    if (head.top && head.top[c].length) parts = parts.concat(part("Classes", "", classBars(head, c)));
    if (head.nearest && head.nearest[c].length) parts = parts.concat(part("Nearest", "to the center, with their " + data.closeness + "s", gallery(h, c, head.nearest[c], data.closeness)));
    if (head.borderline && head.borderline[c].length) parts = parts.concat(part("Borderline", "smallest margin to another center; below 0 the other one is nearer", gallery(h, c, head.borderline[c], "margin")));
    if (head.random[c].length) parts = parts.concat(part("Random", "", gallery(h, c, head.random[c], data.closeness)));
    if (head.near[c].length) parts = parts.concat(part("Nearest clusters", "with the " + data.closeness + " of the centers", nearClusters(h, c)));
    parts.forEach(function (p) { body.appendChild(p); });
    dialog.appendChild(body);
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    document.getElementById("close").focus();
    hideTip();
    history.replaceState(null, "", "#h" + h + "c" + c);
  }

  /* Returns the focus to the row that was opened last. */
  dialog.addEventListener("close", function () {
    if (!open) return;
    var row = document.getElementById("h" + open.h + "c" + open.c);
    history.replaceState(null, "", location.pathname + location.search);
    if (row && !row.hidden) row.focus({ preventScroll: true });
    open = null;
  });
  dialog.addEventListener("click", function (e) { if (e.target === dialog) dialog.close(); });
  dialog.addEventListener("keydown", function (e) {
    if (e.key === "ArrowLeft") move(-1);
    if (e.key === "ArrowRight") move(1);
  });

  /* ---- rows: sort and search ---- */

  /* Everything a search can find in a cluster: number, classes, names of members. */
  function searchText(head, c) {
    var words = [String(c), clusterName(head, c)];
    [head.nearest, head.borderline, head.random].forEach(function (lists) {
      if (!lists) return;
      for (var i = 0; i < lists[c].length; i += 2) words.push(data.names[lists[c][i]]);
    });
    if (head.top) for (var i = 0; i < head.top[c].length; i += 2) words.push(className(head.top[c][i]));
    return words.join("\n").toLowerCase();
  }

  /* Makes the static rows of page_clusters.c sortable, searchable and clickable. */
  function makeRows(section, h) {
    var head = data.heads[h], table = section.querySelector(".rows"), tools = section.querySelector(".tools");
    var rows = Array.prototype.slice.call(table.querySelectorAll(".row:not(.head)"));
    var order = { by: "size", down: true }, texts = null; /* texts: built by the first search */
    var keys = {
      name: function (c) { return head.major ? className(head.major[c]) : ""; },
      size: function (c) { return head.size[c]; },
      purity: function (c) { return head.purity[c] === null ? -1 : head.purity[c]; },
      tight: function (c) { return head.tight[c] === null ? -2 : head.tight[c]; }
    };
    /* Rows have ids like h0c12. */
    function cluster(row) { return Number(row.id.split("c")[1]); }
    function sort() {
      var key = keys[order.by], sign = order.down ? -1 : 1;
      rows.sort(function (a, b) {
        var x = cluster(a), y = cluster(b), u = key(x), v = key(y);
        var d = typeof u === "string" ? u.localeCompare(v) : u - v;
        return d ? sign * d : order.by === "name" ? sign * (x - y) : x - y;
      });
      var all = document.createDocumentFragment();
      rows.forEach(function (r) { all.appendChild(r); });
      table.appendChild(all);
      table.querySelectorAll("[data-sort]").forEach(function (th) {
        if (th.dataset.sort === order.by) th.setAttribute("aria-sort", order.down ? "descending" : "ascending");
        else th.removeAttribute("aria-sort");
      });
    }
    table.querySelectorAll("[data-sort]").forEach(function (th) {
      var button = el("button", { type: "button", text: th.textContent, click: function () {
        var by = th.dataset.sort;
        order = { by: by, down: by === order.by ? !order.down : by !== "name" };
        sort();
      } });
      th.textContent = "";
      th.appendChild(button);
    });
    var count = el("output", { text: rows.length + " clusters" });
    var field = el("input", { type: "search", placeholder: "Search: number, class, file name   ( / )", "aria-label": "search clusters" });
    /* All words must match; "#12" matches cluster 12 only. */
    function search() {
      var words = field.value.toLowerCase().split(/\s+/).filter(Boolean), shown = 0;
      texts = texts || rows.reduce(function (all, row) { all[row.id] = searchText(head, cluster(row)); return all; }, {});
      rows.forEach(function (row) {
        var c = String(cluster(row));
        row.hidden = !words.every(function (w) { return w[0] === "#" ? w.slice(1) === c : texts[row.id].indexOf(w) >= 0; });
        if (!row.hidden) shown++;
      });
      count.textContent = words.length ? shown + " of " + rows.length + " clusters" : rows.length + " clusters";
    }
    /* Scrolls the first hit into view. */
    function showTop() {
      if (tools.previousElementSibling.getBoundingClientRect().bottom < 0)
        tools.previousElementSibling.scrollIntoView({ behavior: "instant" });
      table.scrollTop = 0;
    }
    field.addEventListener("input", function () {
      search();
      showTop();
    });
    field.addEventListener("keydown", function (e) {
      var first = rows.filter(function (row) { return !row.hidden; })[0];
      if ((e.key !== "ArrowDown" && e.key !== "Enter") || !first) return;
      e.preventDefault();
      if (e.key === "Enter") showDetail(h, cluster(first));
      else first.focus();
    });
    tools.appendChild(field);
    tools.appendChild(count);
    table.addEventListener("click", function (e) {
      var row = e.target.closest(".row:not(.head)");
      if (row) showDetail(h, cluster(row));
    });
    table.addEventListener("keydown", function (e) {
      var row = e.target.closest(".row:not(.head)");
      if (!row || e.target !== row) return;
      if (e.key === "Enter" || e.key === " ") {
        e.preventDefault();
        showDetail(h, cluster(row));
      }
      if (e.key === "ArrowDown" || e.key === "ArrowUp") {
        var next = neighbourRow(h, cluster(row), e.key === "ArrowDown" ? 1 : -1);
        e.preventDefault();
        if (next) next.focus();
      }
    });
  }

  /* ---- map ---- */

  /* Zoom, pan and tips. Circles and texts keep their size on the screen while zooming. */
  function makeMap(section, h) {
    var drawing = section.querySelector(".map svg"), head = data.heads[h];
    var whole = drawing.viewBox.baseVal, width = whole.width, height = whole.height;
    var view = { x: 0, y: 0, w: width }, start = null, moved = false; /* start: a drag in progress */
    var circles = Array.prototype.slice.call(drawing.querySelectorAll("circle"));
    var texts = Array.prototype.slice.call(drawing.querySelectorAll(".centers text"));
    circles.forEach(function (c) { c.dataset.r = c.getAttribute("r"); });
    texts.forEach(function (t, i) { t.dataset.up = circles[i].getAttribute("cy") - t.getAttribute("y"); });
    function apply() {
      var scale = view.w / width;
      drawing.setAttribute("viewBox", view.x + " " + view.y + " " + view.w + " " + height * scale);
      circles.forEach(function (c) { c.setAttribute("r", c.dataset.r * scale); });
      texts.forEach(function (t, i) {
        t.style.fontSize = 12 * scale + "px";
        t.style.strokeWidth = 3 * scale + "px";
        t.setAttribute("y", circles[i].getAttribute("cy") - t.dataset.up * scale);
      });
    }
    /* The pointer in SVG units. */
    function point(e) {
      var r = drawing.getBoundingClientRect();
      return { x: view.x + (e.clientX - r.left) / r.width * view.w, y: view.y + (e.clientY - r.top) / r.height * view.w * height / width };
    }
    /* Keeps `at` in place; up to 64 times. */
    function zoom(factor, at) {
      var w = Math.min(width, Math.max(width / 64, view.w * factor));
      view.x = at.x - (at.x - view.x) * w / view.w;
      view.y = at.y - (at.y - view.y) * w / view.w;
      view.w = w;
      if (w === width) view.x = view.y = 0;
      apply();
    }
    function center() { return { x: view.x + view.w / 2, y: view.y + view.w * height / width / 2 }; }
    /* Index into data.dots of the dot within 10 pixels, or -1: dots are not elements of their own. */
    function nearestDot(p) {
      var best = -1, min = Math.pow(10 * view.w / width, 2);
      for (var i = 0; data.dots && i < data.dots.length; i += 4) {
        var d = Math.pow(data.dots[i] - p.x, 2) + Math.pow(data.dots[i + 1] - p.y, 2);
        if (d < min) { min = d; best = i; }
      }
      return best;
    }
    /* The tip of the circle or dot under the pointer. */
    function describe(e) {
      var c = e.target.dataset && e.target.dataset.c, i = c === undefined ? nearestDot(point(e)) : -1;
      if (c !== undefined)
        return showTip(e.clientX, e.clientY, [el("b", { text: clusterName(head, c) }), el("div", { text: head.size[c] + " members" }), strip(head, c, 5)]);
      if (i < 0) return hideTip();
      var item = data.dots[i + 2], label = head.dots[i / 4];
      showTip(e.clientX, e.clientY, [
        el("b", { text: item >= 0 ? data.names[item] : "number " + data.dots[i + 3] }),
        item >= 0 && data.truth && data.truth[item] >= 0 ? el("div", { text: "class " + className(data.truth[item]) }) : null,
        el("div", { text: label >= 0 ? clusterName(head, label) : "in no cluster" }),
        item >= 0 && data.pictures ? el("span", { class: "strip" }, [picture(item)]) : null]);
    }
    drawing.addEventListener("wheel", function (e) {
      e.preventDefault();
      zoom(e.deltaY < 0 ? 0.8 : 1.25, point(e));
    }, { passive: false });
    drawing.addEventListener("pointerdown", function (e) {
      start = { x: e.clientX, y: e.clientY, vx: view.x, vy: view.y };
      moved = false;
    });
    drawing.addEventListener("pointermove", function (e) {
      if (!start) return describe(e);
      var r = drawing.getBoundingClientRect(), dx = e.clientX - start.x, dy = e.clientY - start.y;
      if (!moved && Math.abs(dx) + Math.abs(dy) < 5) return;
      if (!moved) drawing.setPointerCapture(e.pointerId);
      moved = true;
      drawing.classList.add("moving");
      view.x = start.vx - dx / r.width * view.w;
      view.y = start.vy - dy / r.width * view.w;
      hideTip();
      apply();
    });
    function stop() { start = null; drawing.classList.remove("moving"); }
    drawing.addEventListener("pointerup", stop);
    drawing.addEventListener("pointercancel", stop);
    drawing.addEventListener("pointerleave", hideTip);
    drawing.addEventListener("click", function (e) {
      if (moved) return;
      var c = e.target.dataset.c, i = c === undefined ? nearestDot(point(e)) : -1;
      if (i >= 0) c = head.dots[i / 4];
      if (c !== undefined && c >= 0) showDetail(h, Number(c));
    });
    drawing.addEventListener("keydown", function (e) {
      var step = view.w / 10, keys = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
      if (e.key === "+" || e.key === "=") zoom(0.8, center());
      else if (e.key === "-") zoom(1.25, center());
      else if (e.key === "0") { view = { x: 0, y: 0, w: width }; apply(); }
      else if (keys[e.key]) { view.x += keys[e.key][0]; view.y += keys[e.key][1]; apply(); }
      else return;
      e.preventDefault();
    });
  }

  /* A click on a cell opens its cluster. */
  function makeMatrix(section, h) {
    var matrix = section.querySelector(".matrix");
    if (matrix) matrix.addEventListener("click", function (e) {
      var cell = e.target.closest("[data-c]");
      if (cell) showDetail(h, Number(cell.dataset.c));
    });
  }

  /* ---- heads ---- */

  var sections = Array.prototype.slice.call(document.querySelectorAll(".head-part"));
  var tabs = [], made = {}; /* made: heads whose section is set up */

  /* Sections are set up when they are first shown, because reports can be large. */
  function showHead(h) {
    sections.forEach(function (s, i) { s.hidden = i !== h; });
    tabs.forEach(function (t, i) {
      t.setAttribute("aria-selected", i === h);
      t.tabIndex = i === h ? 0 : -1;
    });
    if (made[h]) return;
    made[h] = true;
    makeRows(sections[h], h);
    makeMap(sections[h], h);
    makeMatrix(sections[h], h);
    sections[h].querySelectorAll(".chart").forEach(makeChart);
  }

  /* Tabs replace the sequence of sections if there are several heads. */
  function makeTabs() {
    var bar = el("div", { class: "tabs", role: "tablist", "aria-label": "heads" });
    data.heads.forEach(function (head, h) {
      var tab = el("button", { type: "button", role: "tab", id: "tab" + h, "aria-controls": "head" + h, text: head.k + " clusters", click: function () { showHead(h); } });
      sections[h].setAttribute("role", "tabpanel");
      sections[h].setAttribute("aria-labelledby", "tab" + h);
      tabs.push(tab);
      bar.appendChild(tab);
    });
    bar.addEventListener("keydown", function (e) {
      var step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
      var h = (tabs.indexOf(e.target) + step + tabs.length) % tabs.length;
      if (!step) return;
      showHead(h);
      tabs[h].focus();
    });
    document.getElementById("heads").insertBefore(bar, sections[0]);
    document.getElementById("heads").classList.add("tabbed");
  }

  /* Shows what the address names: #head1 or #h1c12. */
  function follow() {
    var m = /^#h(\d+)c(\d+)$/.exec(location.hash), head = /^#head(\d+)$/.exec(location.hash);
    if (head && data.heads[head[1]]) {
      showHead(Number(head[1]));
      sections[head[1]].scrollIntoView();
    }
    if (!m || !data.heads[m[1]] || Number(m[2]) >= data.heads[m[1]].k) return;
    showHead(Number(m[1]));
    showDetail(Number(m[1]), Number(m[2]));
  }

  makeThemeSwitch();
  if (data.heads.length > 1) makeTabs();
  if (data.heads.length) showHead(data.first);
  document.querySelectorAll("#curves .chart, #choice .chart").forEach(makeChart);
  addEventListener("hashchange", follow);
  document.addEventListener("keydown", function (e) {
    if (e.key !== "/" || dialog.open || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) return;
    var field = document.querySelector(".head-part:not([hidden]) input[type=search]");
    if (!field) return;
    e.preventDefault();
    field.focus();
    field.scrollIntoView({ block: "center" });
  });
  follow();
  root.dataset.ready = "1"; /* for tests */
})();
