"use strict";
// The list of records: the server sends every row, and this filters, sorts and draws them.
(function () {
  // The token has done its work: the cookie goes on, and nobody reads it over a shoulder.
  history.replaceState(null, "", "/");
  const $ = function (id) { return document.getElementById(id); };
  // The list is asked for again after so long, or if that takes long, after so many times as long.
  // While records are still being read, it is asked for again soon.
  const EVERY_MS = 5000, REST = 20, SOON_MS = 500;
  // More rows than anybody reads would take long to draw.
  const MOST = 1000;
  const COLUMNS = ["", "started (UTC)", "kind", "name", "sessions", "upd %", "ops/s", "reads/s", "p99", "remarks"];
  const FIGURES = 4;
  let rows = [], left = 0;
  let sort = { by: 1, down: true };
  const picked = [];

  function element(kind, text, name) {
    const made = document.createElement(kind);
    if (text !== undefined) { made.textContent = text; }
    if (name) { made.className = name; }
    return made;
  }

  function link(text, address, apart) {
    const made = element("a", text);
    made.href = address;
    if (apart) {
      made.target = "_blank";
      made.rel = "noopener";
    }
    return made;
  }

  function query(name, ids) {
    return name + "?" + ids.map(function (id) { return "record=" + encodeURIComponent(id); }).join("&");
  }

  // ---- which rows, in which order

  function words(row) {
    return [row.id, row.kind, row.name, row.started, row.state, row.invalid && "invalid: " + row.invalid, row.remarks]
      .join(" ").toLowerCase();
  }

  function chosen() {
    const wanted = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean), kind = $("kind").value;
    return rows.filter(function (row) {
      const has = words(row);
      return (!kind || row.kind === kind) && !($("valid").checked && row.invalid) &&
        wanted.every(function (word) { return has.includes(word); });
    }).sort(function (a, b) {
      // What is in progress is first in any order.
      const busy = (b.state === "running") - (a.state === "running");
      return busy || (sort.down ? -1 : 1) * compare(key(a), key(b));
    });
  }

  function key(row) {
    const at = sort.by - FIGURES;
    if (at >= 0 && at < row.figures.length) { return row.figures[at][1]; }
    return [null, row.started, row.kind, row.name][sort.by] || row.remarks;
  }

  function compare(a, b) {
    // What is not known is last where the highest are first.
    if (a === null || b === null) { return (a !== null) - (b !== null); }
    return a < b ? -1 : a > b ? 1 : 0;
  }

  // ---- drawing

  function opened(row) {
    const cell = element("th");
    cell.scope = "row";
    if (row.state === "running") {
      cell.append(row.live ? link(row.name, query("/live", [row.id])) : element("span", row.name),
        element("span", "in progress", "state running"));
    } else if (row.opens) {
      cell.append(link(row.name, query("/report", [row.id]), true));
      if (row.live) { cell.append(" ", link("replay", query("/live", [row.id]))); }
    } else { cell.append(row.name); }
    cell.title = row.id;
    return cell;
  }

  function remarks(row) {
    const cell = element("td", undefined, "long");
    if (row.invalid) { cell.append(element("span", "INVALID: " + row.invalid, "invalid")); }
    cell.append((row.invalid && row.remarks ? "; " : "") + row.remarks);
    return cell;
  }

  function pick(row) {
    const cell = element("td"), box = element("input");
    box.type = "checkbox";
    box.disabled = !row.runs;
    box.checked = picked.includes(row.id);
    box.setAttribute("aria-label", "Compare " + row.name);
    box.addEventListener("change", function () {
      const at = picked.indexOf(row.id);
      if (at >= 0) { picked.splice(at, 1); }
      if (box.checked) { picked.push(row.id); }
      // Two are compared: the first of three makes room.
      if (picked.length > 2) { picked.shift(); draw(); }
      offer();
    });
    cell.append(box);
    return cell;
  }

  function offer() {
    const age = function (id) { return rows.findIndex(function (row) { return row.id === id; }); };
    // The rows come newest first; the older one is what the other is compared with.
    const both = picked.slice().sort(function (a, b) { return age(b) - age(a); });
    const button = $("compare"), ready = both.length === 2;
    button.setAttribute("aria-disabled", String(!ready));
    button.textContent = ready ? "Compare " + both.map(function (id) { return rows[age(id)].name; }).join(" with ")
      : "Compare two";
    if (ready) { button.href = query("/report", both); } else { button.removeAttribute("href"); }
  }

  function line(row) {
    const made = element("tr");
    const started = row.started.replace("T", " ").replace(/(\.\d+)?Z$/, "");
    made.append(pick(row), element("td", started, "text"), element("td", row.kind, "text"), opened(row));
    row.figures.forEach(function (figure) { made.append(element("td", figure[0])); });
    made.append(remarks(row));
    made.dataset.record = row.id;
    return made;
  }

  function draw() {
    const found = chosen();
    $("rows").replaceChildren.apply($("rows"), found.slice(0, MOST).map(line));
    const few = found.length > MOST ? "; the first " + MOST.toLocaleString("en") + " are shown" : "";
    const behind = left ? "; " + left.toLocaleString("en") + " are still being read" : "";
    $("count").textContent = rows.length ? found.length.toLocaleString("en") + " of " +
      rows.length.toLocaleString("en") + " records" + few + behind : "There is no record yet: slob run makes one.";
  }

  function heads() {
    $("head").replaceChildren.apply($("head"), COLUMNS.map(function (name, at) {
      const head = element("th"), button = element("button", name);
      head.scope = "col";
      if (at < FIGURES || at === COLUMNS.length - 1) { head.className = "text"; }
      if (!name) { return head; }
      if (sort.by === at) { head.setAttribute("aria-sort", sort.down ? "descending" : "ascending"); }
      button.type = "button";
      button.addEventListener("click", function () {
        sort = { by: at, down: sort.by === at ? !sort.down : at === 1 || at >= FIGURES };
        heads();
        draw();
      });
      head.append(button);
      return head;
    }));
  }

  function kinds() {
    const there = Array.from($("kind").options, function (each) { return each.value; });
    Array.from(new Set(rows.map(function (row) { return row.kind; }))).sort().forEach(function (kind) {
      if (!there.includes(kind)) { $("kind").append(new Option(kind, kind)); }
    });
  }

  // ---- the list

  let known = "";
  function take(text) {
    if (text === known) {
      left = 0;
      return;
    }
    known = text;
    const list = JSON.parse(text);
    rows = list.rows;
    left = list.left;
    $("where").textContent = list.where;
    picked.splice(0, picked.length, ...picked.filter(function (id) {
      return rows.some(function (row) { return row.id === id; });
    }));
    kinds();
    draw();
    offer();
  }

  async function look() {
    const began = performance.now();
    try {
      const answer = await fetch("/records");
      const text = await answer.text();
      if (!answer.ok) { throw new Error(text); }
      take(text);
      $("trouble").hidden = true;
    } catch (error) {
      $("trouble").hidden = false;
      $("trouble").textContent = "slob live has ended, or does not answer: this is the list of " +
        new Date().toLocaleTimeString() + ". (" + error.message + ")";
    }
    setTimeout(look, left ? SOON_MS : Math.max(EVERY_MS, REST * (performance.now() - began)));
  }

  heads();
  $("filter").addEventListener("input", draw);
  $("kind").addEventListener("change", draw);
  $("valid").addEventListener("change", draw);
  look();
})();
