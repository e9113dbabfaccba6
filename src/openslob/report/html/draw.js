"use strict";
// Each element of class "chart" has the number of its specification. SVG is sharp in print and styled by the page.
(function () {
  const specs = JSON.parse(document.getElementById("specs").textContent);
  const options = { renderer: "svg", actions: false, mode: "vega-lite", tooltip: { theme: "custom" } };
  const charts = Array.from(document.querySelectorAll(".chart"));
  const drawn = charts.map(function (element) {
    return vegaEmbed(element, specs[Number(element.dataset.spec)], options).then(function (result) {
      // The number of the legend's columns depends on the width, which is known only now: a second pass resizes it.
      return result.view.resize().runAsync();
    }).catch(function (error) {
      element.textContent = "This picture can't be drawn: " + error.message;
      throw error;
    });
  });
  window.charts = Promise.all(drawn).then(function (views) {
    document.documentElement.dataset.charts = String(views.length);
    return views;
  });
})();
