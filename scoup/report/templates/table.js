const tables = [...document.querySelectorAll("table.sortable")];
for (const table of tables) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0], rows = [...body.rows];
  const value = (row, n) => (row.cells[n].dataset.value ?? row.cells[n].textContent).trim();
  // Numbers before words, and by size; words as people sort them.
  const compare = (a, b) => isNaN(a) - isNaN(b) || (isNaN(a) ? a.localeCompare(b) : a - b);
  heads.forEach((head, n) => head.querySelector("button").addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const full = rows.filter(row => value(row, n) !== ""), empty = rows.filter(row => value(row, n) === "");
    full.sort((a, b) => compare(value(a, n), value(b, n)));
    body.append(...(down ? full.reverse() : full), ...empty);
  }));
}
const filter = document.querySelector("input.filter");
filter?.addEventListener("input", () => {
  const word = filter.value.toLowerCase();
  for (const table of tables)
    for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(word);
});
