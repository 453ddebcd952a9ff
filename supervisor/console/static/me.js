// Who is signed in, and what their token lets them do.

let me = null;

/** Notes who is signed in; null: nobody. */
export function become(found) {
  me = found;
}

/** Whether the one who is signed in may do what takes this scope. */
export function may(scope) {
  return me !== null && me.scopes.includes(scope);
}

/** Whether they may see all workspaces, and so what is of the whole vault. */
export function seesAll() {
  return me !== null && (me.workspaces ?? null) === null;
}

/** The one who is signed in. */
export function whoIs() {
  return me;
}
