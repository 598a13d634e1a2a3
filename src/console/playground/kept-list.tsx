// The conversations in this browser: opened again, exported as a file, deleted.

import { moneyText, sumUsd } from '../parts/money'
import { saveFile } from '../parts/save-file'
import { Time } from '../parts/time'
import { keyTexts } from '../texts'
import { type Conversation, titleOf } from './conversation'
import type { PlaygroundState } from './state'

const words = keyTexts.playground

export function KeptList({ playground }: { playground: PlaygroundState }) {
  const all = playground.kept.value
  const { id: current } = playground.conversation.value
  if (all.length === 0) return <p class="quiet">{words.noHistory}</p>
  return (
    <>
      <ul class="tried">
        {all.map((each) => (
          <li key={each.id} aria-current={each.id === current}>
            <button type="button" class="plain" onClick={() => playground.open(each)}>
              {titleOf(each) || words.kinds[each.kind]}
            </button>
            <span class="quiet small">
              {each.models.join(', ')} · {moneyText(costOf(each))} ·{' '}
              <Time at={new Date(each.changedAt).toISOString()} />
            </span>
            <span class="actions">
              <button type="button" class="plain" onClick={() => save(each)}>
                {words.export}
              </button>
              <button type="button" class="plain" onClick={() => void playground.remove(each.id)}>
                {words.delete}
              </button>
            </span>
          </li>
        ))}
      </ul>
      <button type="button" onClick={() => void playground.removeAll()}>
        {words.clear}
      </button>
    </>
  )
}

/** The cost of all replies of a conversation. */
export function costOf({ turns }: Conversation): string {
  return sumUsd(turns.flatMap(({ replies }) => replies.map(({ costUsd }) => costUsd)))
}

function save(conversation: Conversation): void {
  const name = words.exportName(conversation.id.slice(0, 8))
  saveFile(name, JSON.stringify(conversation, null, 2), 'application/json')
}
