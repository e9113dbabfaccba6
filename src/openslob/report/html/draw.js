"use strict";
// Each element of class "chart" names its specification by number. Drawn as SVG: sharp in print, coloured by the page.
(function () {
  const specs = JSON.parse(document.getElementById("specs").textContent);
  const options = { renderer: "svg", actions: false, mode: "vega-lite", tooltip: { theme: "custom" } };
  const charts = Array.from(document.querySelectorAll(".chart"));
  const drawn = charts.map(function (element) {
    return vegaEmbed(element, specs[Number(element.dataset.spec)], options).catch(function (error) {
      element.textContent = "This picture can't be drawn: " + error.message;
      throw error;
    });
  });
  window.charts = Promise.all(drawn).then(function (results) {
    document.documentElement.dataset.charts = String(results.length);
    return results.map(function (result) { return result.view; });
  });
})();
