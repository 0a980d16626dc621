// Pictures in which every job has a group of its own: one scheduler at a time, and one job picked out of all.

(function allocation() {
  const sheets = [...document.querySelectorAll(".sheet")];
  if (!sheets.length) return;
  const status = document.getElementById("status");
  let picked = -1;
  const tabs = sheets.map((sheet, index) => {
    const tab = document.createElement("button");
    Object.assign(tab, { type: "button", id: `tab-${index}` });
    tab.setAttribute("role", "tab");
    tab.innerHTML = `<span class="chip s${sheet.dataset.place}"></span>${escapeHtml(sheet.dataset.label)}`;
    tab.addEventListener("click", () => show(index));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      const next = (index + step + sheets.length) % sheets.length;
      show(next);
      tabs[next].focus();
    });
    sheet.setAttribute("role", "tabpanel");
    sheet.setAttribute("aria-labelledby", tab.id);
    sheet.querySelector("h4").hidden = true; // the tab says the same
    return tab;
  });
  document.getElementById("tabs").append(...tabs);

  function show(index) {
    sheets.forEach((sheet, at) => { sheet.hidden = at !== index; });
    tabs.forEach((tab, at) => {
      tab.setAttribute("aria-selected", String(at === index));
      tab.tabIndex = at === index ? 0 : -1;
    });
    tell();
  }

  function tell() {
    const row = picked < 0 ? null : sheets.find((sheet) => !sheet.hidden).querySelector(`[data-job="${picked}"] title`);
    status.textContent = row ? row.textContent : "";
  }

  function pick(job) {
    picked = job === picked ? -1 : job;
    for (const row of document.querySelectorAll(".sheet .job")) {
      row.classList.toggle("dim", picked >= 0 && Number(row.dataset.job) !== picked);
    }
    tell();
  }

  for (const sheet of sheets) {
    sheet.addEventListener("click", (event) => {
      const row = event.target.closest(".job");
      if (row) pick(Number(row.dataset.job));
    });
  }
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && picked >= 0) pick(picked); });
  const wanted = new URLSearchParams(location.hash.slice(1)); // #run=2&job=3 opens the page there
  show(Math.min(Math.max(0, Number(wanted.get("run")) || 0), sheets.length - 1));
  if (wanted.has("job")) pick(Number(wanted.get("job")));
})();
