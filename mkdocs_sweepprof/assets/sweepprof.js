/* mkdocs-sweepprof: sortable tables. Listens on the document, so that tables that arrive later (instant navigation)
   sort as well; no dependencies. */
(function () {
  "use strict";

  if (window.sweepprofSorts) return;
  window.sweepprofSorts = true;

  function value(row, column) {
    var cell = row.cells[column];
    if (!cell) return null;
    var text = cell.getAttribute("data-sort");
    return text === null ? cell.textContent.trim() : text;
  }

  /* Numbers before text, each among its own kind; what is missing comes last in either direction. */
  function compare(a, b, sign) {
    if (a === null || a === "") return b === null || b === "" ? 0 : 1;
    if (b === null || b === "") return -1;
    var x = Number(a);
    var y = Number(b);
    var first = !Number.isNaN(x);
    var second = !Number.isNaN(y);
    if (first && second) return sign * (x - y);
    if (first !== second) return first ? -1 : 1;
    /* "0.01" and "0.1" collate alike there; plain order parts them, so that both directions mirror each other. */
    return sign * (a.localeCompare(b, undefined, { numeric: true }) || (a < b ? -1 : a > b ? 1 : 0));
  }

  function sort(button) {
    var head = button.closest("th");
    var table = button.closest("table");
    var body = table.tBodies[0];
    var heads = Array.prototype.slice.call(head.parentNode.cells);
    var column = heads.indexOf(head);
    var before = head.getAttribute("aria-sort");
    var numeric = head.classList.contains("sweepprof-num");
    /* Numbers are first wanted largest first, names from the beginning of the alphabet. */
    var next = before === "none" ? (numeric ? "descending" : "ascending") : before === "ascending" ? "descending" : "ascending";
    var sign = next === "ascending" ? 1 : -1;
    var rows = Array.prototype.slice.call(body.rows).map(function (row, place) {
      return { row: row, key: value(row, column), place: place };
    });
    rows.sort(function (a, b) {
      return compare(a.key, b.key, sign) || a.place - b.place;
    });
    var sorted = document.createDocumentFragment();
    rows.forEach(function (entry) {
      sorted.appendChild(entry.row);
    });
    body.appendChild(sorted);
    heads.forEach(function (other) {
      if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", other === head ? next : "none");
    });
  }

  document.addEventListener("click", function (event) {
    var button = event.target instanceof Element && event.target.closest(".sweepprof-sortable .sweepprof-sort");
    if (button) sort(button);
  });
})();
