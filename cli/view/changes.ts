// Changes of a configuration as people read them, one setting a line.

import type { Change } from '../../src/config/changes'
import { paint } from './output'
import { renderTable } from './table'

/** A table of changes. */
export function describeChanges(changes: readonly Change[]): string {
  return renderTable(
    [{ title: 'SETTING', flexible: true, widthMin: 24 }, { title: 'CHANGE', flexible: true }, { title: '' }],
    changes.map((change) => [
      change.setting,
      changeText(change),
      change.needsRestart ? paint('yellow', 'needs a restart') : '',
    ]),
  )
}

function changeText({ kind, before, after }: Change): string {
  if (before !== null && after !== null) return `${before} -> ${after}`
  const value = before ?? after
  return value === null ? kind : `${kind}: ${value}`
}
