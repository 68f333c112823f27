// What a client keeps of its dealings with an authorization server: the SDK's OAuthClientProvider, in memory.
import { randomUUID } from 'node:crypto';

export class Keychain {
  /**
   * @param redirectUrl the address that a human's browser is sent back to
   * @param open is given the page that the human is to read
   */
  constructor(redirectUrl, open) {
    this.redirectUrl = redirectUrl;
    this.redirectToAuthorization = open;
  }

  get clientMetadata() {
    return { client_name: 'A TypeScript client', redirect_uris: [this.redirectUrl], grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'], token_endpoint_auth_method: 'none' };
  }

  state() { return this.expected = randomUUID(); }

  clientInformation() { return this.client; }
  saveClientInformation(client) { this.client = client; }

  tokens() { return this.kept; }
  saveTokens(tokens) { this.kept = tokens; }

  codeVerifier() { return this.verifier; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }

  discoveryState() { return this.discovered; }
  saveDiscoveryState(state) { this.discovered = state; }

  invalidateCredentials(scope) {
    const fields = { client: 'client', tokens: 'kept', verifier: 'verifier', discovery: 'discovered' };
    for (const field of scope === 'all' ? Object.values(fields) : [fields[scope]]) delete this[field];
  }
}
