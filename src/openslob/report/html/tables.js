"use strict";
// Says above a table that it scrolls, where it does, and opens everything that is folded before it is printed.
(function () {
  const watch = new ResizeObserver(function (seen) {
    seen.forEach(function (each) {
      const box = each.target;
      box.previousElementSibling.hidden = box.scrollWidth <= box.clientWidth + 1 && box.scrollHeight <= box.clientHeight + 1;
    });
  });
  document.querySelectorAll(".scrolls + .scroll").forEach(function (box) { watch.observe(box); });
  const folded = function () { return document.querySelectorAll("details:not([open])"); };
  let opened = [];
  window.addEventListener("beforeprint", function () {
    opened = Array.from(folded());
    opened.forEach(function (each) { each.open = true; });
  });
  window.addEventListener("afterprint", function () {
    opened.forEach(function (each) { each.open = false; });
  });
})();
