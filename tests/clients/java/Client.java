import java.io.*;
import java.net.*;
import java.net.http.*;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;

/** java.net.http: it heeds no variable, so an explicit proxy is given in code, as a Java program would. */
class Client {
  static final String API = "https://api.test", TOKEN = System.getenv("API_TOKEN");
  static final String DIGEST = "aca1cd027e979588d14b877b7b0cb8585ad9fec599eb45801992ee5382b3760f";
  static HttpClient client;
  static String login;    // at the proxy

  static HttpRequest.Builder ask(String path) {
    var request = HttpRequest.newBuilder(URI.create(API + path)).timeout(Duration.ofSeconds(20))
        .header("Authorization", "Bearer " + TOKEN);
    return login == null ? request : request.header("Proxy-Authorization", login);
  }

  static String expect(String got, String wanted, String detail) {
    if (!got.equals(wanted)) throw new IllegalStateException(got + " instead of " + wanted);
    return detail;
  }

  static String get() throws Exception {
    HttpResponse<String> answer = client.send(ask("/whoami").build(), BodyHandlers.ofString());
    return expect(answer.body().strip(), "you are " + TOKEN, answer.version().toString());
  }

  static String post() throws Exception {
    var body = HttpRequest.BodyPublishers.ofString("0123456789abcdef".repeat(65536));
    return expect(client.send(ask("/digest").POST(body).build(), BodyHandlers.ofString()).body(), DIGEST, "");
  }

  static String stream() throws Exception {
    var answer = client.send(ask("/events").build(), BodyHandlers.ofInputStream());
    var reader = new BufferedReader(new InputStreamReader(answer.body()));
    String[] first = reader.readLine().split(" ");
    expect(first[2], TOKEN, "");
    client.send(ask("/go-on/" + first[1]).build(), BodyHandlers.discarding());
    reader.readLine();
    return expect(reader.readLine(), "data: done", "");
  }

  static String ws() throws Exception {
    var heard = new LinkedBlockingQueue<String>();
    var listener = new WebSocket.Listener() {
      public CompletionStage<?> onText(WebSocket socket, CharSequence data, boolean last) {
        heard.add(data.toString());
        socket.request(1);
        return null;
      }
    };
    var builder = client.newWebSocketBuilder().header("Authorization", "Bearer " + TOKEN);
    if (login != null) builder.header("Proxy-Authorization", login);
    WebSocket socket = builder.connectTimeout(Duration.ofSeconds(20)).buildAsync(URI.create("wss://ws.test/"), listener)
        .get(20, TimeUnit.SECONDS);
    expect(heard.poll(20, TimeUnit.SECONDS), "you are " + TOKEN, "");
    socket.sendText("hello", true).get(20, TimeUnit.SECONDS);
    expect(heard.poll(20, TimeUnit.SECONDS), "hello", "");
    socket.sendClose(WebSocket.NORMAL_CLOSURE, "").get(20, TimeUnit.SECONDS);
    return "";
  }

  static void report(String name, Callable<String> check) {
    try {
      System.out.println(name + " ok " + check.call());
    } catch (Exception error) {
      var refused = error.getCause() instanceof WebSocketHandshakeException handshake
          ? " " + handshake.getResponse().statusCode() + " " + handshake.getResponse().headers().map() : "";
      System.out.println(name + " " + String.valueOf(error).replace('\n', ' ') + refused);
    }
  }

  public static void main(String[] arguments) {
    System.out.println("version " + System.getProperty("java.version"));
    var builder = HttpClient.newBuilder();
    String variable = System.getenv("https_proxy");
    if (variable != null) {
      URI proxy = URI.create(variable);
      builder.proxy(ProxySelector.of(new InetSocketAddress(proxy.getHost(), proxy.getPort())));
      // An Authenticator would make the client drop the program's own Authorization.
      if (proxy.getUserInfo() != null)
        login = "Basic " + Base64.getEncoder().encodeToString(proxy.getUserInfo().getBytes());
    }
    client = builder.build();
    report("get", Client::get);
    report("post", Client::post);
    report("stream", Client::stream);
    report("ws", Client::ws);
    System.exit(0);
  }
}
