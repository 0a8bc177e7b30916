// SPDX-License-Identifier: MIT
// resilience4j: java Peers WORK COUNT
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.retry.Retry;
import io.github.resilience4j.retry.RetryConfig;
import java.lang.management.ManagementFactory;

public final class Peers {
  private static long sum = 0;
  private static int calls = 0;

  private static long processorTime() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
  }

  public static void main(String[] words) {
    final String work = words[0];
    final int count = Integer.parseInt(words[1]);
    final Runnable once;
    if (work.equals("throw")) {
      final Retry retry = Retry.of("peers", RetryConfig.custom().maxAttempts(4).intervalFunction(attempt -> 0L).build());
      once = () -> {
        calls = 0;
        sum += retry.executeSupplier(() -> {
          if (++calls == 1) throw new IllegalStateException("HTTP 503 Service Unavailable");
          return calls;
        });
      };
    } else if (work.equals("breaker")) {
      final CircuitBreaker breaker = CircuitBreaker.ofDefaults("peers");
      once = () -> sum += breaker.executeSupplier(() -> 2);
    } else {
      System.exit(3);
      return;
    }
    for (int i = 0; i < Math.max(count, 200_000); ++i) once.run();  // Until it is compiled.
    final long begin = processorTime();
    for (int i = 0; i < count; ++i) once.run();
    System.out.println((double) (processorTime() - begin) / count);
    if (sum == 0) System.exit(1);
  }
}
