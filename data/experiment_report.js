// SPDX-License-Identifier: MIT
// Draws the charts of an experiment's HTML report with Chart.js 3.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
// Distinguishable with colour blindness. Source: M. Okabe, K. Ito, 2008.
const colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555"];
Chart.defaults.animation = false;
Chart.defaults.maintainAspectRatio = false;

const unique = (all) => [...new Set(all)];
const others = (one) => one.levels.slice(1).join(", ") || "all";
const series = unique(data.conditions.map((one) => one.levels[0]));
const percent = (rate) => Math.round(rate * 1000) / 10;
const describe = (one) =>
  data.factors.map((factor, i) => `${factor}=${one.levels[i]}`).join(", ") +
  `: ${percent(one.rate[0])} % (${percent(one.rate[1])} to ${percent(one.rate[2])})`;

// A line from the low to the high end of each bar's interval.
const intervals = {
  id: "intervals",
  afterDatasetsDraw(chart) {
    chart.data.datasets.forEach((dataset, i) => {
      chart.getDatasetMeta(i).data.forEach((bar, j) => {
        const one = dataset.conditions[j];
        if (!one) return;
        const [low, high] = [one.rate[1], one.rate[2]].map((rate) => chart.scales.y.getPixelForValue(percent(rate)));
        chart.ctx.beginPath();
        chart.ctx.moveTo(bar.x, low);
        chart.ctx.lineTo(bar.x, high);
        chart.ctx.strokeStyle = "#222";
        chart.ctx.lineWidth = 1.5;
        chart.ctx.stroke();
      });
    });
  },
};
const labels = unique(data.conditions.map(others));
const success = { title: { display: true, text: "success, %" }, min: 0, max: 100 };
new Chart(document.getElementById("success"), {
  type: "bar",
  plugins: [intervals],
  data: {
    labels,
    datasets: series.map((name, i) => {
      const conditions = labels.map((label) =>
        data.conditions.find((one) => one.levels[0] === name && others(one) === label));
      return {
        label: name,
        backgroundColor: colours[i % colours.length] + "99",
        conditions,
        data: conditions.map((one) => (one ? percent(one.rate[0]) : null)),
      };
    }),
  },
  options: {
    scales: { y: success },
    plugins: { tooltip: { callbacks: { label: (at) => describe(at.dataset.conditions[at.dataIndex]) } } },
  },
});

// What a success costs: money if there is a price, else tokens, else simulated time.
const cost = ["usd", "tokens", "seconds"].find((name) =>
  data.conditions.some((one) => one.figures[name] && one.figures[name][0] > 0));
if (cost) {
  new Chart(document.getElementById("cost"), {
    type: "scatter",
    data: {
      datasets: series.map((name, i) => {
        const conditions = data.conditions.filter((one) => one.levels[0] === name && one.figures[cost]);
        return {
          label: name,
          backgroundColor: colours[i % colours.length],
          pointRadius: 5,
          clip: 8, // Points on the edge are drawn whole.
          conditions,
          data: conditions.map((one) => ({ x: one.figures[cost][0], y: percent(one.rate[0]) })),
        };
      }),
    },
    options: {
      scales: { x: { title: { display: true, text: `${cost}, mean of a trial` }, min: 0 }, y: success },
      plugins: { tooltip: { callbacks: { label: (at) => describe(at.dataset.conditions[at.dataIndex]) } } },
    },
  });
}
