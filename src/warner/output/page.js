// Numbers are compared by data-value, which holds all digits; what is no number goes last, either way.
document.querySelectorAll("th button").forEach(function (button) {
  button.addEventListener("click", function () {
    var head = button.parentElement, column = head.cellIndex, table = head.closest("table"), body = table.tBodies[0];
    var down = head.getAttribute("aria-sort") === "descending" ||
      (head.classList.contains("text") && head.getAttribute("aria-sort") !== "ascending");
    var sign = down ? 1 : -1, numeric = !head.classList.contains("text");
    table.querySelectorAll("th[aria-sort]").forEach(function (other) { other.removeAttribute("aria-sort"); });
    head.setAttribute("aria-sort", down ? "ascending" : "descending");
    var rows = Array.from(body.rows).map(function (row) {
      var cell = row.cells[column], text = numeric ? cell.dataset.value : cell.textContent;
      return [numeric && text !== "" ? Number(text) : text, row];
    });
    rows.sort(function (first, second) {
      if (!numeric) return sign * first[0].localeCompare(second[0], undefined, { numeric: true });
      if (first[0] === "" || second[0] === "") return (first[0] === "") - (second[0] === "");
      return sign * (first[0] - second[0]);
    });
    rows.forEach(function (pair) { body.appendChild(pair[1]); });
  });
});
