// The answer of the playground, as far as it has come: text as text, and pictures, sound and video in place.

import { hrefOf } from '../address'
import type { ApiError } from '../api'
import type { Answer } from '../playground-run'
import { keyTexts } from '../texts'
import { Code } from './code'
import { moneyText } from './money'

const words = keyTexts.playground
/** Numbers of a vector that are shown. */
const SHOWN_NUMBERS = 8
/** Statuses after which a repeat may help, besides those of the gateway's and the vendor's own faults. */
const REPEATABLE = [0, 408, 429]

interface AnswerViewProps {
  answer: Answer | undefined
  isRunning: boolean
  isStopped: boolean
}

export function AnswerView({ answer, isRunning, isStopped }: AnswerViewProps) {
  if (!answer && !isRunning) return <p class="quiet">{isStopped ? words.stopped : words.empty}</p>
  return (
    <div class="answer" aria-busy={isRunning}>
      {answer && <Content answer={answer} />}
      {isRunning && (
        <p class="quiet" role="status">
          {answer?.state ? words.taskState(answer.state) : words.waiting}
        </p>
      )}
      {isStopped && <p class="quiet">{words.stopped}</p>}
      {answer && !isRunning && <Footer answer={answer} />}
    </div>
  )
}

function Content({ answer }: { answer: Answer }) {
  const { thinking, text, calls, pictures, elsewhere, sound, video, vectors } = answer
  return (
    <>
      {thinking && (
        <details>
          <summary>{words.thinking}</summary>
          <p class="said quiet">{thinking}</p>
        </details>
      )}
      {text && <p class="said">{text}</p>}
      {calls.map((call, index) => (
        <figure class="snippet" key={index}>
          <figcaption>{words.toolCall(call.name)}</figcaption>
          <Code label={words.toolCall(call.name)} text={call.arguments} />
        </figure>
      ))}
      {pictures.map((url, index) => (
        <img class="medium" src={url} alt={words.picture(index + 1)} key={url.slice(-64)} />
      ))}
      {elsewhere.map((url) => (
        <p key={url}>
          {words.elsewhere}{' '}
          <a href={url} target="_blank" rel="noreferrer noopener">
            {new URL(url).host}
          </a>
        </p>
      ))}
      {sound && <audio class="medium" controls src={sound} aria-label={words.sound} />}
      {video && <video class="medium" controls src={video} aria-label={words.video} />}
      {vectors.length > 0 && <Vectors vectors={vectors} />}
    </>
  )
}

function Vectors({ vectors }: Pick<Answer, 'vectors'>) {
  return (
    <>
      <p>{words.vectors(vectors.length, vectors[0]?.length ?? 0)}</p>
      <Code label={words.numbers} text={vectors.map(beginOf).join('\n')} />
    </>
  )
}

function beginOf(vector: readonly number[]): string {
  return vector
    .slice(0, SHOWN_NUMBERS)
    .map((number) => number.toFixed(4))
    .join('  ')
}

function Footer({ answer: { costUsd, requestId } }: { answer: Answer }) {
  return (
    <p class="cost">
      <strong>{costUsd === null ? words.costLater : words.cost(moneyText(costUsd))}</strong>
      {requestId && (
        <>
          {' · '}
          {words.requestId} <a href={hrefOf('activity', {}, requestId)}>{requestId}</a>
        </>
      )}
    </p>
  )
}

/** An error in full, and what to do. */
export function PlaygroundError({ error }: { error: ApiError }) {
  const canRepeat = REPEATABLE.includes(error.status) || error.status >= 500
  const help = error.code === null ? undefined : words.help[error.code]
  return (
    <div class="failed" role="alert">
      <p>{error.message}</p>
      <p class="quiet">
        {error.status > 0 && `${error.status} `}
        {error.code}
        {error.param && ` · ${error.param}`}
      </p>
      <p>{help ?? (canRepeat ? words.canRepeat : words.cannotRepeat)}</p>
    </div>
  )
}
