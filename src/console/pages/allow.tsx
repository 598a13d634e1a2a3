// Asks the holder of a key whether a program may connect to the tools, with a limit and an expiry. The page shows where the program
// gets its answer, because a program can choose any name. It must never decide anything without a click.

import { address } from '../address'
import { send, session, signOut, withQuery } from '../api'
import { LanguageChoice } from '../palette/language-choice'
import { Field, Form } from '../parts/form'
import { Loaded } from '../parts/loaded'
import { useQuery } from '../query'
import { texts } from '../texts'

const words = texts.allow
const PATH = 'console/consent'
const DAYS = ['1', '7', '30', '90', '365'] as const
const USUAL_DAYS = '30'
const USUAL_LIMIT = '5'

interface ConnectionRequest {
  program: string
  host: string
  is_this_machine: boolean
  key: string
  account: string
}

export function Allow() {
  const { query } = address.value
  const isHolder = session.value?.kind === 'key'
  const request = useQuery(
    ['consent', query, isHolder],
    async (signal) =>
      (await send('GET', withQuery(PATH, query), { signal })).json() as Promise<ConnectionRequest>,
  )
  return (
    <main class="sign-in">
      <h1>{words.title}</h1>
      {isHolder ? (
        <Loaded of={request}>{(data) => <Question request={data} query={query} />}</Loaded>
      ) : (
        <p>{words.needsKey}</p>
      )}
      <button type="button" class="plain" onClick={() => void signOut().catch(() => {})}>
        {texts.signOut}
      </button>
      <LanguageChoice />
    </main>
  )
}

function Question({
  request,
  query,
}: {
  request: ConnectionRequest
  query: Readonly<Record<string, string>>
}) {
  const decide = async (decision: object) => {
    const body = { query: new URLSearchParams(query).toString(), ...decision }
    const { location: next } = (await (await send('POST', PATH, { body })).json()) as { location: string }
    location.assign(next)
  }
  return (
    <>
      <p>
        <strong>{request.program}</strong> {words.wants}
      </p>
      <p>{request.is_this_machine ? words.toThisMachine(request.host) : words.toHost(request.host)}</p>
      <p class="quiet">{words.pays(request.account, request.key)}</p>
      <Form
        action={words.allow}
        submit={({ limit_usd = '', days = '' }) => decide({ allow: true, limit_usd, days: Number(days) })}
      >
        <Field name="limit_usd" title={words.limit} value={USUAL_LIMIT} isRequired hint={words.limitHint} />
        <Field
          name="days"
          title={words.ends}
          value={USUAL_DAYS}
          options={DAYS.map((days) => [days, words.days(Number(days))])}
        />
      </Form>
      <Form action={words.refuse} isQuiet submit={() => decide({ allow: false })} />
    </>
  )
}
