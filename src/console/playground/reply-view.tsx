// A reply, as much of it as has arrived: text as Markdown, thinking, calls of tools, pictures, audio and video in place, vectors
// and scores, and its usage and price. Unreadable parts are shown as JSON.

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { hrefOf } from '../address'
import { session } from '../api'
import { decimalText } from '../language'
import { Scroller } from '../parts/code'
import { Copy } from '../parts/form'
import { moneyText } from '../parts/money'
import { durationText } from '../parts/time'
import { keyTexts } from '../texts'
import { CodeBlock } from './code-block'
import { type Fault, type ModelReply, type Score, type Turn, tokensPerSecond } from './conversation'
import { Markdown } from './markdown'
import { cosineOf } from './read-media'
import { linesOf } from './request'
import type { PlaygroundState } from './state'

const words = keyTexts.playground
/** Numbers of a vector that are shown. */
const SHOWN_NUMBERS = 8
/** Number of scores that are shown at first. */
const SHOWN_SCORES = 20
/** Statuses after which a repeat may help, other than those of the gateway's and the vendor's own faults. */
const REPEATABLE = [0, 408, 429]

interface ReplyViewProps {
  playground: PlaygroundState
  turn: Turn
  reply: ModelReply
  /** Whether it can be requested again: it belongs to the last turn, and nothing runs. */
  isOpen: boolean
  children?: ComponentChildren
}

export function ReplyView({ playground, turn, reply, isOpen, children }: ReplyViewProps) {
  const { model, state, text, mostUsd, fault } = reply
  return (
    <article class="reply" aria-label={words.replyOf(model)} aria-busy={state === 'running'}>
      <h2>{model}</h2>
      <Content
        reply={reply}
        turn={turn}
        hasSchema={Boolean(playground.conversation.value.values.schema?.trim())}
      />
      {state === 'running' && (
        <p class="quiet" role="status">
          {reply.taskState ? words.taskState(reply.taskState) : words.waiting}
        </p>
      )}
      {state === 'stopped' && <p class="quiet">{words.stopped}</p>}
      {fault && <ReplyFault fault={fault} />}
      {state !== 'running' && <Figures reply={reply} />}
      {children}
      {state !== 'running' && (
        <p class="actions reply-actions">
          {text && <Copy text={text} />}
          {isOpen && !turn.results && (
            <button
              type="button"
              title={words.atMost(moneyText(mostUsd))}
              onClick={() => void playground.regenerate(turn, reply)}
            >
              {words.regenerate}
            </button>
          )}
        </p>
      )}
    </article>
  )
}

function Content({ reply, turn, hasSchema }: { reply: ModelReply; turn: Turn; hasSchema: boolean }) {
  const { thinking, text, calls, pictures, elsewhere, sound, video, vectors, scores, raw, state } = reply
  const isRunning = state === 'running'
  return (
    <>
      {thinking && (
        <details open={isRunning && text === ''}>
          <summary>{words.thinking}</summary>
          <p class="said quiet">{thinking}</p>
        </details>
      )}
      {text &&
        (hasSchema ? (
          <CodeBlock language="json" text={laidOut(text)} />
        ) : (
          <Markdown text={text} isRunning={isRunning} />
        ))}
      {calls.map((call, index) => (
        <section class="call" aria-label={words.toolCall(call.name)} key={call.id || index}>
          <h3>{words.toolCall(call.name)}</h3>
          <CodeBlock language="json" text={laidOut(call.arguments)} />
        </section>
      ))}
      {pictures.map((url, index) => (
        <figure key={url.slice(-64)}>
          <img class="medium" src={url} alt={words.picture(index + 1)} />
          <figcaption>
            <a href={url} download={words.pictureFile(index + 1)}>
              {words.download}
            </a>
          </figcaption>
        </figure>
      ))}
      {elsewhere.map((url) => (
        <p key={url}>
          {words.elsewhere}{' '}
          <a href={url} target="_blank" rel="noreferrer noopener">
            {new URL(url).host}
          </a>
        </p>
      ))}
      {sound && <Player kind="audio" src={sound} label={words.spoken} />}
      {video && <Player kind="video" src={video} label={words.video} />}
      {vectors.length > 0 && <Vectors vectors={vectors} lines={linesOf(turn.text)} />}
      {scores.length > 0 && <Scores scores={scores} />}
      {raw !== null && (
        <>
          <p class="quiet">{words.unreadable}</p>
          <CodeBlock language="json" text={raw} />
        </>
      )}
    </>
  )
}

/** JSON with one value per line; incomplete JSON unchanged. */
function laidOut(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/** A file that the browser cannot play says so, and can still be downloaded. */
function Player({ kind: Kind, src, label }: { kind: 'audio' | 'video'; src: string; label: string }) {
  const [isBroken, setBroken] = useState(false)
  return (
    <figure>
      {isBroken ? (
        <p class="quiet">{words.notPlayable}</p>
      ) : (
        <Kind class="medium" controls src={src} aria-label={label} onError={() => setBroken(true)} />
      )}
      <figcaption>
        <a href={src} download={Kind === 'audio' ? 'speech' : 'video.mp4'}>
          {words.download}
        </a>
      </figcaption>
    </figure>
  )
}

interface VectorsProps {
  vectors: ModelReply['vectors']
  /** The texts that were embedded. */
  lines: readonly string[]
}

function Vectors({ vectors, lines }: VectorsProps) {
  const begin = (vector: readonly number[]) =>
    vector
      .slice(0, SHOWN_NUMBERS)
      .map((number) => decimalText(number, 4))
      .join('  ')
  return (
    <>
      <p>{words.vectors(vectors.length, vectors[0]?.length ?? 0)}</p>
      {vectors.length > 1 && <Likeness vectors={vectors.slice(0, SHOWN_SCORES)} lines={lines} />}
      <CodeBlock language={words.numbers} text={vectors.map(begin).join('\n')} />
    </>
  )
}

/** How similar each pair of lines is. */
function Likeness({ vectors, lines }: VectorsProps) {
  return (
    <Scroller class="prose-table" label={words.likeness}>
      <table>
        <caption class="quiet">{words.likeness}</caption>
        <thead>
          <tr>
            <td />
            {vectors.map((_, index) => (
              <th scope="col" class="number" key={index}>
                {index + 1}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {vectors.map((vector, place) => (
            <tr key={place}>
              <th scope="row">
                {place + 1} {lines[place]}
              </th>
              {vectors.map((other, index) => (
                <td class="number" key={index}>
                  {decimalText(cosineOf(vector, other), 3)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroller>
  )
}

function Scores({ scores }: { scores: readonly Score[] }) {
  return (
    <ol class="scores">
      {scores.slice(0, SHOWN_SCORES).map(({ label, score, isHit }) => (
        <li key={label}>
          <span>
            {label} {isHit && <strong class="bad">{words.flagged}</strong>}
          </span>
          <meter min={0} max={1} value={score} aria-label={label} />
          <span class="number">{decimalText(score, 3)}</span>
        </li>
      ))}
    </ol>
  )
}

function Figures({ reply }: { reply: ModelReply }) {
  const { state, costUsd, requestId, firstMs, totalMs, outputTokens } = reply
  const speed = tokensPerSecond(reply)
  const all = [
    firstMs !== null && words.firstToken(durationText(firstMs)),
    totalMs !== null && words.total(durationText(totalMs)),
    outputTokens !== null && words.tokens(outputTokens),
    speed !== null && words.speed(decimalText(speed, speed < 10 ? 1 : 0)),
  ]
  return (
    <p class="cost">
      {(costUsd !== null || state !== 'failed') && (
        <strong>{costUsd === null ? words.costLater : words.cost(moneyText(costUsd))}</strong>
      )}
      {all.filter(Boolean).map((each) => (
        <span class="quiet" key={String(each)}>
          {each}
        </span>
      ))}
      {requestId && (
        <a
          href={hrefOf(session.value?.kind === 'admin' ? 'requests' : 'activity', {}, requestId)}
          title={requestId}
        >
          {words.request}
        </a>
      )}
    </p>
  )
}

/** An error in full, and what to do. */
function ReplyFault({ fault: { message, status, code, param } }: { fault: Fault }) {
  const canRepeat = REPEATABLE.includes(status) || status >= 500
  const help = code === null ? undefined : words.help[code]
  return (
    <div class="failed" role="alert">
      <p>{message}</p>
      <p class="quiet">
        {status > 0 && `${status} `}
        {code}
        {param && ` · ${param}`}
      </p>
      <p>{help ?? (canRepeat ? words.canRepeat : words.cannotRepeat)}</p>
    </div>
  )
}
