"use strict";
// Each element of class "chart" names its specification by number. Drawn as SVG: sharp in print, coloured by the page.
(function () {
  const specs = JSON.parse(document.getElementById("specs").textContent);
  const options = { renderer: "svg", actions: false, mode: "vega-lite", tooltip: { theme: "custom" } };
  const charts = Array.from(document.querySelectorAll(".chart"));
  const drawn = charts.map(function (element) {
    return vegaEmbed(element, specs[Number(element.dataset.spec)], options).then(function (result) {
      // The legend's columns follow the width, which is known only now: room is made for its rows in a second pass.
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
