// Who is signed in, and what their token lets them do.

const ALL = ["chat", "approve", "admin"];
let me = null;

/** Notes who is signed in; null: nobody. */
export function become(found) {
  me = found;
}

/** Whether the one who is signed in may do what takes this scope. */
export function may(scope) {
  return me !== null && (me.scopes ?? ALL).includes(scope);
}

/** The one who is signed in. */
export function whoIs() {
  return me;
}
