// The bodies of a request and its answer, if `log.bodies` has stored them, as text. They are requested only on a click, because the
// audit trail records who has read them.

import { useState } from 'preact/hooks'
import { go, hrefOf } from '../address'
import { ApiError, call } from '../api'
import { Code } from '../parts/code'
import { Action, Copy } from '../parts/form'
import { Loaded } from '../parts/loaded'
import { useQuery } from '../query'
import { keyTexts, texts } from '../texts'

const words = texts.requests

/** Maximum number of displayed characters of a body: a longer text makes a page slow. */
const SHOWN = 20_000

/** The request whose bodies are shown. */
interface OfRequest {
  request: string
  operation: string
  model: string | null
  account: string | null
}

export function KeptBodies(of: OfRequest) {
  const [isOpen, setOpen] = useState(false)
  return (
    <section>
      <h3>{words.bodies}</h3>
      {isOpen ? (
        <Bodies {...of} />
      ) : (
        <p class="actions">
          <button type="button" onClick={() => setOpen(true)}>
            {words.showBodies}
          </button>
          <span class="quiet">{words.bodiesMean}</span>
        </p>
      )}
    </section>
  )
}

function Bodies(of: OfRequest) {
  const { request } = of
  const load = useQuery(['bodies', request], (signal) =>
    call('getRequestBodies', { params: { id: request }, signal }),
  )
  return (
    <Loaded of={load}>
      {({ bodies }) =>
        bodies === null ? (
          <p class="quiet">{words.noBodies}</p>
        ) : (
          <>
            {bodies.request !== null && <OpenInPlayground {...of} body={bodies.request} />}
            <Body title={words.request} body={bodies.request} />
            <Body title={words.answer} body={bodies.answer} />
          </>
        )
      }
    </Loaded>
  )
}

/** Opens the request as a conversation. The playground is loaded for it, and asks who pays. */
function OpenInPlayground({ operation, model, account, body }: OfRequest & { body: string }) {
  const { openRequest, openMeans, cannotOpen } = keyTexts.playground
  const open = async () => {
    const { reopened, hand } = await import('../playground/from-request')
    const found = reopened(operation, body, model ?? '')
    if (!found) throw new ApiError(cannotOpen, 0, null, null)
    hand(found)
    go(hrefOf('playground', { account }))
  }
  return (
    <p class="actions">
      <Action title={openRequest} act={open} />
      <span class="quiet">{openMeans}</span>
    </p>
  )
}

function Body({ title, body }: { title: string; body: string | null }) {
  if (body === null || body === '')
    return (
      <p class="quiet">
        {title}: {words.nothingKept}
      </p>
    )
  const text = laidOut(body)
  return (
    <figure class="snippet">
      <figcaption>
        <span>
          {title}
          {text.length > SHOWN && `. ${words.cut(SHOWN, text.length)}`}
        </span>
        <Copy text={text} title={words.copyWhole} />
      </figcaption>
      <Code label={title} text={text.slice(0, SHOWN)} />
    </figure>
  )
}

/** JSON with one value per line; other texts unchanged. */
function laidOut(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}
