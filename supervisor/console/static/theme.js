// Light or dark: as the system has it, or as was chosen here.

const KEY = "trustfloor-theme";
const CHOICES = ["system", "light", "dark"];

function stored() {
  try {
    const found = localStorage.getItem(KEY);
    return CHOICES.includes(found) ? found : "system";
  } catch {
    return "system";
  }
}

/** The choice that counts. */
export function theme() {
  return stored();
}

/** Puts the choice into force, and keeps it. */
export function choose(wanted) {
  try {
    localStorage.setItem(KEY, wanted);
  } catch {
    // A browser that keeps nothing still shows it.
  }
  apply(wanted);
}

/** Puts what was chosen earlier into force. */
export function apply(wanted = stored()) {
  if (wanted === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = wanted;
}
