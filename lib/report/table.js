
(function () {
  "use strict";
  var table = document.getElementById("rows");
  if (!table) return;
  var body = table.tBodies[0], rows = Array.prototype.slice.call(body.rows);
  var word = document.getElementById("word"), kind = document.getElementById("kind");
  var count = document.getElementById("count");
  document.getElementById("filter").hidden = false;
  function show() {
    var text = word.value.toLowerCase(), seen = 0;
    rows.forEach(function (row) {
      var fits = (!kind.value || row.dataset.kind === kind.value) &&
                 (!text || row.textContent.toLowerCase().indexOf(text) >= 0);
      row.hidden = !fits;
      if (fits) seen++;
    });
    count.textContent = seen + " of " + rows.length;
  }
  word.addEventListener("input", show);
  kind.addEventListener("change", show);
  Array.prototype.forEach.call(table.tHead.rows[0].cells, function (cell, column) {
    var button = document.createElement("button");
    button.type = "button";
    button.textContent = cell.textContent;
    cell.textContent = "";
    cell.appendChild(button);
    button.addEventListener("click", function () {
      var up = cell.getAttribute("aria-sort") !== "ascending";
      Array.prototype.forEach.call(table.tHead.rows[0].cells, function (one) {
        one.removeAttribute("aria-sort");
      });
      cell.setAttribute("aria-sort", up ? "ascending" : "descending");
      function key(row) {
        var one = row.cells[column];
        return one.dataset.key === undefined ? one.textContent.trim() : one.dataset.key;
      }
      var order = rows.map(function (row, place) { return { row: row, key: key(row), place: place }; });
      order.sort(function (a, b) {
        var x = Number(a.key), y = Number(b.key), d;
        if (a.key !== "" && b.key !== "" && !isNaN(x) && !isNaN(y)) d = x - y;
        else d = a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
        return (up ? d : -d) || a.place - b.place;
      });
      order.forEach(function (one) { body.appendChild(one.row); });
    });
  });
  show();
})();
