// Requests to the supervisor that served this page, and its problems as errors.

/** What went wrong, as the supervisor told it. */
export class Problem extends Error {
  constructor(status, told = {}) {
    super(told.detail || told.title || `the supervisor answered ${status}`);
    this.name = "Problem";
    this.status = status;
    this.code = told.code ?? "unknown";
    this.where = told.where ?? null;
    this.remedy = told.remedy ?? null;
    this.errors = told.errors ?? [];
    this.incident = told.incident ?? null;
  }
}

/** Says `signed-out` when the supervisor no longer knows who we are. */
export const session = new EventTarget();

const SECRET = "trustfloor.page";
let clockAhead = 0;

/**
 * What each request carries besides the cookie, which a browser sends to other ports as well. It is
 * told once, at the login, and kept for pages of this origin alone; null: nobody is logged in.
 */
export function keepSecret(secret) {
  if (secret === null) localStorage.removeItem(SECRET);
  else localStorage.setItem(SECRET, secret);
}

/** Whether this page knows a login's secret. */
export function hasSecret() {
  return localStorage.getItem(SECRET) !== null;
}

/** The supervisor's clock, in seconds since the epoch, as far as its answers tell it. */
export function serverNow() {
  return (Date.now() + clockAhead) / 1000;
}

function address(path, query) {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== null && value !== undefined && value !== "");
  if (given.length === 0) return path;
  const parts = new URLSearchParams();
  for (const [name, value] of given) for (const each of [value].flat()) parts.append(name, each);
  return `${path}?${parts}`;
}

/** A request as the browser's own `fetch` makes it, with what ours need; `body` is JSON or a form. Raises Problem. */
export async function send(method, path, { body, query, headers = {}, signal } = {}) {
  const changes = method !== "GET";
  const all = { Accept: "application/json", ...headers };
  const isForm = body instanceof FormData; // of which the browser itself tells the type
  if (changes && !isForm) all["Content-Type"] = "application/json";
  const secret = localStorage.getItem(SECRET);
  if (secret !== null) all["X-CSRF-Token"] = secret;
  let answer;
  try {
    answer = await fetch(address(path, query), {
      method,
      headers: all,
      body: isForm ? body : changes ? JSON.stringify(body ?? {}) : undefined,
      credentials: "same-origin",
      cache: "no-store",
      redirect: "error",
      signal,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem(0, { code: "unreachable", detail: "The supervisor doesn't answer.", remedy: "see whether it runs, and try again" });
  }
  noteClock(answer.headers.get("date"));
  if (answer.ok) return answer;
  const problem = new Problem(answer.status, await document_of(answer));
  if (answer.status === 401 || problem.code === "csrf") session.dispatchEvent(new Event("signed-out"));
  throw problem;
}

async function document_of(answer) {
  try {
    return await answer.json();
  } catch {
    return {};
  }
}

function noteClock(date) {
  const told = Date.parse(date ?? "");
  if (Number.isNaN(told)) return;
  const ahead = told + 500 - Date.now(); // a Date header counts whole seconds
  clockAhead = Math.abs(ahead) < 2000 ? 0 : ahead;
}

async function read(method, path, options) {
  const answer = await send(method, path, options);
  return answer.status === 204 ? null : answer.json();
}

const PAUSES_MS = [300, 1000];

/** Reads; once more, and again, if the connection breaks: a browser breaks off all when networks change. */
export async function get(path, options) {
  for (const pause of PAUSES_MS) {
    try {
      return await read("GET", path, options);
    } catch (error) {
      if (options?.signal?.aborted || !isBroken(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
  return read("GET", path, options);
}

/** Whether no answer came, or not the whole of it. */
function isBroken(error) {
  return error.status === 0 || error instanceof TypeError;
}

export const post = (path, body, options) => read("POST", path, { ...options, body });
export const put = (path, body, options) => read("PUT", path, { ...options, body });
export const patch = (path, body, options) => read("PATCH", path, { ...options, body });
export const remove = (path, options) => read("DELETE", path, options);

/** A part of a path that came from data. */
export const part = (text) => encodeURIComponent(text);
