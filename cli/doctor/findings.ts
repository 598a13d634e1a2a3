// One finding of `gateway doctor`: what was checked, its state, and the remedy.

export interface Finding {
  check: string
  /** `broken`: requests fail, or will soon. `warning`: it works, and should be fixed. */
  state: 'ok' | 'warning' | 'broken'
  found: string
  /** The remedy as a sentence; null if nothing is wrong. */
  cure: string | null
}

export function ok(check: string, found: string): Finding {
  return { check, state: 'ok', found, cure: null }
}

export function warning(check: string, found: string, cure: string): Finding {
  return { check, state: 'warning', found, cure }
}

export function broken(check: string, found: string, cure: string): Finding {
  return { check, state: 'broken', found, cure }
}
