// Sign-in: by an identity provider, by the token of an admin or the key of a caller. It must never store the entered text.

import { useEffect, useState } from 'preact/hooks'
import { type IdentityProvider, identityProviders, leaveFor, signIn, signInFault } from './api'
import { LanguageChoice } from './palette/language-choice'
import { Action, Field, Form } from './parts/form'
import { SandboxBadge } from './parts/sandbox-badge'
import { texts } from './texts'

export function SignIn() {
  const words = texts.signIn
  const [providers, setProviders] = useState<IdentityProvider[]>([])
  useEffect(() => {
    // Without providers, people sign in with a token.
    identityProviders().then(setProviders, () => {})
  }, [])
  return (
    <main class="sign-in">
      <h1>
        {words.title} <SandboxBadge />
      </h1>
      {signInFault.value && (
        <p class="failed" role="alert">
          {signInFault.value}
        </p>
      )}
      {providers.map((provider) => (
        <p key={provider.name}>
          <Action title={words.by(provider.title)} act={() => leaveFor(provider)} />
        </p>
      ))}
      <p class="quiet">{words.intro}</p>
      <Form action={words.action} submit={({ token = '' }) => signIn({ token })}>
        <Field name="token" title={words.token} type="password" isRequired hint={words.hint} />
      </Form>
      <p class="quiet">{words.link}</p>
      <p>
        <code>{words.command}</code>
      </p>
      <LanguageChoice />
    </main>
  )
}
