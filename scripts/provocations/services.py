# SPDX-License-Identifier: MIT
"""Clients without their service: docker, kubectl, terraform; and nginx in front of services that fail."""
from .cases import commands

N = "curl -s http://127.0.0.1:@NGINX@"
NGINX = {
    "external_fault unavailable": [
        f"{N}/down/a > /dev/null; grep /down/a @STATE@/nginx_server.log | tail -n 1", f"{N}/busy > /dev/null; {N}/busy",
    ],
    "external_fault connection_lost": [f"{N}/cut > /dev/null; grep /cut @STATE@/nginx_server.log | tail -n 1"],
    "timeout timed_out 504": [f"{N}/slow"], "timeout timed_out": [f"{N}/slow/2 > /dev/null; grep /slow/2 @STATE@/nginx_server.log | tail -n 1"],
    "external_fault rate_limited": [
        f"{N}/few > /dev/null; {N}/few",
        f"{N}/few > /dev/null; {N}/few > /dev/null; grep /few @STATE@/nginx_server.log | tail -n 1",
    ],
    "access_denied forbidden": [
        f"{N}/admin/", f"{N}/empty/ > /dev/null; grep /empty/ @STATE@/nginx_server.log | tail -n 1",
        f"{N}/private/a > /dev/null; grep /private/a @STATE@/nginx_server.log | tail -n 1",
    ],
    "access_denied unauthenticated": [f"{N}/team"],
    "wrong_tool_called endpoint_not_found": [f"{N}/get -X BREW"],
    "context_overflow too_large": [
        f"head -c 3000 /dev/zero > b; {N}/a --data-binary @b", f"{N}/$(printf 'a%.0s' $(seq 3000))",
        f"{N}/a -H \"X-A: $(printf 'a%.0s' $(seq 3000))\"",
        f"head -c 3000 /dev/zero > b; {N}/b --data-binary @b > /dev/null; grep /b @STATE@/nginx_server.log | tail -n 1",
    ],
    "schema_mismatch bad_request": [
        "printf 'GET / HTTP/9.9\\r\\n\\r\\n' | ncat 127.0.0.1 @NGINX@",
        "printf 'GET / HTTP/1.1\\r\\n\\r\\n' | ncat 127.0.0.1 @NGINX@",
    ],
    "unknown missing_data": [f"{N}/week12.csv > /dev/null; grep /week12.csv @STATE@/nginx_server.log | tail -n 1"],
    "schema_mismatch output_format": [f"{N}/garbage -o /dev/null; grep /garbage @STATE@/nginx_server.log | tail -n 1"],
    "loop_detected redirect_loop": [f"{N}/round/a > /dev/null; grep /round/a @STATE@/nginx_server.log | tail -n 1"],
    "schema_mismatch parse_error": [
        "echo 'events { } http { servr { } }' > n.conf; nginx -t -c $PWD/n.conf -e stderr -g 'pid /dev/null;'",
        "echo 'events { } http { server { listen x; } }' > n.conf; nginx -t -c $PWD/n.conf -e stderr",
        "echo 'events { ' > n.conf; nginx -t -c $PWD/n.conf -e stderr",
        "echo 'events { } http { proxy_read_timeout soon; }' > n.conf; nginx -t -c $PWD/n.conf -e stderr",
    ],
    "schema_mismatch invalid_argument": ["nginx -s restart", "nginx -Z"],
    "unknown bug": [
        "echo 'events { } http { server { location / { } location / { } } }' > n.conf; nginx -t -c $PWD/n.conf -e stderr",
        "echo 'events { } http { upstream a { } }' > n.conf; nginx -t -c $PWD/n.conf -e stderr",
    ],
    "access_denied permission_denied": [
        "echo 'events { } http { server { listen 80; } }' > n.conf; nginx -c $PWD/n.conf -e stderr -g 'pid a.pid;' 2>&1 | tail -n 1",
    ],
}
DOCKER = {
    "external_fault unavailable": [
        "DOCKER_HOST=unix:///nowhere/docker.sock docker ps", "DOCKER_HOST=tcp://127.0.0.1:@CLOSED@ docker images",
    ],
    "external_fault dns_failed": ["DOCKER_HOST=tcp://builder.invalid:2375 docker ps"],
    "external_fault connection_lost": ["DOCKER_HOST=tcp://127.0.0.1:@CLOSING@ docker pull alpine"],
    "wrong_tool_called command_not_found": ["docker biuld .", "docker container strat a", "docker swarmm init"],
    "schema_mismatch invalid_argument": [
        "docker run --memry 5m alpine", "docker run", "docker run -p 99999:1 alpine", "docker run -m lots alpine",
        "docker cp a b", "docker pull BAD/Name", "docker run -e",
        "docker ps --format", "DOCKER_HOST=ftp://a docker ps", "docker run --restart sometimes alpine",
        "docker tag a",
    ],
    "schema_mismatch invalid_json": [
        "cp config.json s.json; docker run --security-opt seccomp=broken.json alpine",
    ],
    "unknown missing_data": [
        "docker --context staging ps", "docker build nowhere", "docker run --env-file gone.env alpine",
        "docker load -i shop.tar", "docker build -f Dockerfile.prod .",
    ],
    "access_denied permission_denied": [
        "python3 -c 'import socket,os; s=socket.socket(socket.AF_UNIX); s.bind(\"d.sock\"); s.listen(); os.chmod(\"d.sock\", 0)'; DOCKER_HOST=unix://$PWD/d.sock docker ps",
    ],
}
KUBE = "kubectl --kubeconfig=/dev/null "
KUBECTL = {
    "external_fault connection_refused": [KUBE + "-s http://127.0.0.1:@CLOSED@ get pods --request-timeout=2s"],
    "timeout timed_out": [KUBE + "-s http://127.0.0.1:@SILENT@ get pods --request-timeout=300ms 2>&1 | tail -n 1"],
    "wrong_tool_called command_not_found": [
        KUBE + "rollout restartt d", "kubectl neat get pod a",
    ],
    "schema_mismatch invalid_argument": [
        KUBE + "get pods --namespce a", KUBE + "get", KUBE + "logs", KUBE + "scale deploy/a",
        KUBE + "create deployment a", KUBE + "run a", KUBE + "get pods --request-timeout=soon",
        KUBE + "create secret generic a --from-literal=b --dry-run=client",
        KUBE + "create cronjob a --image=b --dry-run=client -o yaml", KUBE + "label pods", KUBE + "cp a b",
        KUBE + "port-forward a",
    ],
    "schema_mismatch parse_error": [
        "kubectl --kubeconfig=notes.txt get pods", "kubectl --kubeconfig=broken.json get pods",
        KUBE + "create quota q --hard=cpu=lots --dry-run=client",
    ],
    "unknown missing_data": [
        "kubectl --context staging --kubeconfig=/dev/null get pods", KUBE + "create -f shop.yaml",
        KUBE + "create configmap a --from-file=limits.ini --dry-run=client",
        "kubectl --kubeconfig=gone.yaml config use-context a", "kubectl kustomize ."],
    "external_fault server_error": [
        KUBE + "-s http://127.0.0.1:@HTTP@/v1/broken/x get --raw /v1/broken",
        KUBE + "-s http://127.0.0.1:@HTTP@ get --raw /v1/down",
        KUBE + "-s http://127.0.0.1:@HTTP@ get --raw /v1/chat",
    ],
    "access_denied forbidden": [
        KUBE + "-s http://127.0.0.1:@HTTP@ get --raw /v1/admin",
        KUBE + "-s http://127.0.0.1:@HTTP@ get --raw /v1/orders",
    ],
}
TF = "printf '%s' > main.tf; terraform init -no-color > /dev/null 2>&1; "
TERRAFORM = {
    "wrong_tool_called command_not_found": [
        "terraform aply", "terraform state mvv a b",
        TF % "output \"a\" { value = fancy(1) }" + "terraform validate -no-color",
    ],
    "schema_mismatch parse_error": [
        TF % "resource \"a\" {" + "terraform validate -no-color",
        TF % "output \"a\" { value = [1, }" + "terraform validate -no-color",
        "cp notes.txt a.tf; terraform fmt -no-color a.tf",
    ],
    "schema_mismatch unexpected_field": [
        TF % "output \"a\" { colour = 5 }" + "terraform validate -no-color",
        TF % "variable \"n\" { type = number }" + "terraform plan -no-color -input=false -var n=ten",
        TF % "output \"a\" { }" + "terraform validate -no-color",
        TF % "variable \"n\" { type = numbr }" + "terraform validate -no-color",
    ],
    "schema_mismatch tool_arguments": [
        TF % "variable \"n\" { }" + "terraform plan -no-color -input=false",
        TF % "output \"a\" { value = substr(\"a\") }" + "terraform validate -no-color",
        TF % "output \"a\" { value = tonumber(\"ten\") }" + "terraform plan -no-color",
        "terraform plan -fancy -no-color", TF % "" + "terraform plan -no-color -var limit=5",
    ],
    "loop_detected loop_reported": [
        TF % "locals {\\n a = local.b\\n b = local.a\\n}\\n" + "terraform validate -no-color",
        TF % "locals {\\n a = local.a\\n}\\n" + "terraform plan -no-color",
    ],
    "unknown missing_data": [
        "terraform plan -no-color", TF % "output \"a\" { value = local.total }" + "terraform validate -no-color",
        TF % "module \"m\" { source = \"./m\" }" + "terraform init -no-color",
        TF % "output \"a\" { value = file(\"limits.json\") }" + "terraform validate -no-color",
        "terraform show -no-color gone.plan", "terraform -chdir=prod plan",
    ],
    "unknown bug": [
        TF % "output \"a\" { value = 5 / 0 }" + "terraform plan -no-color",
        TF % "variable \"n\" {\\n default = 600\\n validation {\\n condition = var.n < 500\\n error_message = \"The limit must be below 500 items.\"\\n }\\n}\\n" + "terraform plan -no-color",
        TF % "output \"a\" { value = [1][4] }" + "terraform plan -no-color",
        TF % "output \"a\" { value = 1 }\\noutput \"a\" { value = 2 }\\n" + "terraform validate -no-color",
        TF % "terraform { required_version = \"> 99\" }" + "terraform plan -no-color",
    ],
    "external_fault resource_busy": [
        TF % "resource \"terraform_data\" \"a\" {\\n provisioner \"local-exec\" { command = \"sleep 2\" }\\n}\\n" + "(terraform apply -auto-approve -no-color > /dev/null 2>&1 &); sleep 1.2; terraform apply -auto-approve -no-color 2>&1 | head -16; sleep 1",
    ],
    "crashed signal": [
        TF % "resource \"terraform_data\" \"a\" {\\n provisioner \"local-exec\" { command = \"kill -SEGV $$\" }\\n}\\n" + "terraform apply -auto-approve -no-color 2>&1 | tail -n 8",
    ],
}


def cases():
    yield from commands("nginx", NGINX, "nginx")
    yield from commands("docker", DOCKER, "docker")
    yield from commands("kubectl", KUBECTL, "kubectl")
    yield from commands("terraform", TERRAFORM, "terraform")
