// Changes of a configuration for people, one setting per line.

import type { Change } from '../../src/config/changes'
import { paint } from './output'
import { tableOf } from './table'

/** A table of changes. */
export function describeChanges(changes: readonly Change[]): string {
  return tableOf(changes, [
    ['SETTING', (change) => change.setting, { flexible: true, widthMin: 24 }],
    ['CHANGE', changeText, { flexible: true }],
    ['', (change) => (change.needsRestart ? paint('yellow', 'needs a restart') : '')],
  ])
}

function changeText({ kind, before, after }: Change): string {
  if (before !== null && after !== null) return `${before} -> ${after}`
  const value = before ?? after
  return value === null ? kind : `${kind}: ${value}`
}
