// How a client uses this gateway with the key: its URL, the settings of known clients, and new secrets. The secret of the key
// itself is unknown here, so a placeholder is shown.

import { useState } from 'preact/hooks'
import {
  assignment,
  type ClientName,
  clientNames,
  clients,
  type Shell,
  shells,
} from '../../api-document/clients'
import { address } from '../address'
import { urlOf } from '../api'
import { askKey, askPrices, type PricedModel, rollKey, rollWebhookSecret } from '../key-api'
import { Choice } from '../parts/choice'
import { Code } from '../parts/code'
import { Copy, Danger } from '../parts/form'
import { Loaded } from '../parts/loaded'
import { Facts } from '../parts/panel'
import { Secret } from '../parts/secret'
import { useQuery } from '../query'
import { keyTexts } from '../texts'
import { OwnTokens } from './key-spenders'

const words = keyTexts.connect
const KEY = 'sk-YOUR-KEY'
const WEBHOOK_SECRET = 'whsec_YOUR-SECRET'

export default function Connect() {
  const models = useQuery(['prices'], askPrices)
  const url = urlOf('').replace(/\/+$/, '')
  return (
    <>
      <h1 class="page-head">{words.title}</h1>
      <section class="part">
        <h2>{words.address}</h2>
        <Facts
          facts={[
            [words.baseUrl, <CodeLine text={`${url}/v1`} key="base" />],
            [words.withoutVersion, <CodeLine text={url} key="bare" />],
          ]}
        />
      </section>
      <section class="part">
        <h2>{words.client}</h2>
        <Loaded of={models}>{({ data }) => <ClientSettings url={url} models={data} />}</Loaded>
      </section>
      <OwnTokens />
      <Secrets />
    </>
  )
}

function CodeLine({ text }: { text: string }) {
  return (
    <>
      <code>{text}</code> <Copy text={text} />
    </>
  )
}

function ClientSettings({ url, models }: { url: string; models: readonly PricedModel[] }) {
  const { query } = address.value
  const name: ClientName = clientNames.find((each) => each === query.client) ?? 'openai'
  const shell: Shell = shells.find((each) => each === query.shell) ?? 'sh'
  const { operation, settings } = clients[name]
  const usable = operation ? models.filter(({ operations }) => operations.includes(operation)) : []
  const model = usable.find(({ id }) => id === query.model)?.id ?? usable[0]?.id
  const secret = name === 'webhook' ? WEBHOOK_SECRET : KEY
  const { variables, command, file, steps } = settings({ url, secret, model })
  const lines = [
    ...Object.entries(variables).map(([variable, value]) => assignment(shell, variable, value)),
    ...(command === undefined ? [] : [command]),
  ]
  return (
    <>
      <div class="filters">
        <Choice title={words.client} name="client" value={name} options={clientNames} />
        {lines.length > 0 && <Choice title={words.shell} name="shell" value={shell} options={shells} />}
        {operation && model && (
          <Choice title={words.model} name="model" value={model} options={usable.map(({ id }) => id)} />
        )}
      </div>
      {file && <Snippet title={words.file(file.path)} text={file.content} />}
      {lines.length > 0 && <Snippet title={words.inShell} text={lines.join('\n')} />}
      {steps && <Snippet title={name} text={steps.join('\n')} />}
      <p class="quiet">{words.secretNote(secret)}</p>
    </>
  )
}

function Snippet({ title, text }: { title: string; text: string }) {
  return (
    <figure class="snippet">
      <figcaption>
        {title} <Copy text={text} />
      </figcaption>
      <Code label={title} text={text} />
    </figure>
  )
}

function Secrets() {
  const own = useQuery(['own key'], askKey)
  const [made, setMade] = useState<readonly { title: string; text: string }[]>([])
  const show = (secret: (typeof made)[number]) =>
    setMade([...made.filter(({ title }) => title !== secret.title), secret])
  return (
    <section class="part">
      <h2>{words.secrets}</h2>
      <Loaded of={own}>
        {({ hint, name }) => (
          <>
            <Facts facts={[[words.key, <code key="hint">{hint}</code>]]} />
            <p class="actions">
              <Danger
                action={words.rollKey}
                title={words.rollKey}
                nameToType={name}
                act={async () => {
                  const { key } = await rollKey()
                  show({ title: words.newKey, text: key })
                }}
              >
                <p>{words.rollConsequence(hint)}</p>
              </Danger>
              <Danger
                action={words.rollWebhook}
                title={words.rollWebhook}
                act={async () => {
                  const { webhook_secret } = await rollWebhookSecret()
                  show({ title: words.newSecret, text: webhook_secret })
                }}
              >
                <p>{words.rollWebhookConsequence}</p>
              </Danger>
            </p>
          </>
        )}
      </Loaded>
      {made.map((secret) => (
        <Secret key={secret.text} {...secret} />
      ))}
    </section>
  )
}
