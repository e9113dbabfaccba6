"use strict";
// Each element of class "chart" has the number of its specification. SVG is sharp in print and styled by the page.
(function () {
  const specs = JSON.parse(document.getElementById("specs").textContent);
  const options = { renderer: "svg", actions: false, mode: "vega-lite", tooltip: { theme: "custom" } };
  // The width that the axis' labels, which stand beside the drawing, take from a chart.
  const beside = 80;
  const charts = Array.from(document.querySelectorAll(".chart"));
  const drawn = charts.map(function (element) {
    const room = function () { return element.clientWidth - beside; };
    const spec = specs[Number(element.dataset.spec)];
    spec.params.find(function (each) { return each.name === "legend_room"; }).value = room();
    return vegaEmbed(element, spec, options).then(function (result) {
      new ResizeObserver(function () {
        result.view.signal("legend_room", room()).resize().runAsync();
      }).observe(element);
      return result.view;
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
