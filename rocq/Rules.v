(* Proofs of identities with functions: steps, each of which adds an equation to those that are known, and why they hold. *)
From Coq Require Import ZArith NArith.
From Coq Require List.
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp Require Import boolp classical_sets reals sequences exp.
From Attention Require Import Rationals Expressions Functions.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* ---------------------------------------------------------------------------------------------------------- rewriting *)

(* entries replaced by what known equations say they are *)
Fixpoint replacement (rules : seq equation) (k : nat) (vs : seq index) : expr := match rules with
  | [::] => Entry k vs
  | (Entry j bs, body) :: rules' =>
    if (j == k) && uniq bs then if instance bs vs body is Some e then e else Entry k vs else replacement rules' k vs
  | _ :: rules' => replacement rules' k vs end.
Fixpoint rewritten (rules : seq equation) (e : expr) : expr := match e with
  | Entry k vs => replacement rules k vs
  | Add a b => Add (rewritten rules a) (rewritten rules b)
  | Mul a b => Mul (rewritten rules a) (rewritten rules b)
  | Sum v a => Sum v (rewritten rules a)
  | _ => e end.
(* an equation is shown by passes of rewriting, each with some of the known equations, and a certificate *)
Record argument_of_equality := Shown { passes : seq (seq nat); by_certificate : certificate }.
Definition pass (known : seq equation) (e : expr) (ns : seq nat) := rewritten [seq nth trivial known n | n <- ns] e.
Definition shown (known : seq equation) (h : equation) (p : argument_of_equality) : bool :=
  if without_uses known (uses (by_certificate p)) is Some e
  then vanishes (exchanges (by_certificate p)) (foldl (pass known) (Add (Sub h.1 h.2) e) (passes p)) else false.

(* -------------------------------------------------------------------------------------------------------------- steps *)

(* what is assumed where a function is used: of the argument of the function with this number *)
Inductive condition := IsPositive of nat | IsNonzero of nat | IsInvertible of nat.
Definition condition_eq (c d : condition) := match c, d with
  | IsPositive k, IsPositive l | IsNonzero k, IsNonzero l | IsInvertible k, IsInvertible l => k == l | _, _ => false end.

Definition proof := argument_of_equality.
Inductive step :=
| Equal of equation & proof
| SameEntries of nat & seq index & nat & seq index & proof    (* of two entrywise functions *)
| SameFunctions of nat & nat & proof                          (* equal arguments *)
| SoftmaxRows of nat                                          (* the entries of a row add up to 1 *)
| SoftmaxShift of nat & nat & expr & proof                    (* what is constant in a row does not matter *)
| SoftmaxUniform of nat                                       (* equal entries *)
| SoftmaxRatio of nat & nat & proof                           (* times the row's sum of exponentials, the exponential *)
| ExpSum of nat & nat & nat & proof
| ExpZero of nat & proof
| PowerSum of nat & nat & nat & proof & proof
| PowerOne of nat
| PowerOfProduct of nat & nat & nat & proof
| PowerOfBase of nat & base & ratio & proof
| PowerOfNumber of nat & ratio & ratio & proof                (* a number to a whole power is a number *)
| PowerOfPower of nat & nat & nat & proof & proof
| PowerOfExp of nat & nat & nat & proof & proof               (* exp(x)^p = exp(p x) *)
| LogOfExp of nat & nat & proof
| PowerInverse of nat                                          (* x x^-1 = 1 *)
| StepSquare of nat
| StepScale of nat & nat & expr & proof                       (* of a positive multiple *)
| StepOne of nat                                              (* of what is positive *)
| StepZero of nat & expr & proof                              (* of what is, with a sum that is not negative, 0 *)
| PowerZero of nat
| UnitSquare of nat
| UnitsApart of nat & nat                                     (* 1 at two different positions *)
| UnitSum of nat & BinNums.positive & proof                   (* over an index of at least one more value than the position *)
| InverseLeft of nat & seq index
| InverseRight of nat & seq index.

Section Derive.
Variables (T : table) (given : seq condition).

Definition has (c : condition) := seq.has (condition_eq c) given.
Fixpoint positive_expr (positive_entry : nat -> bool) (e : expr) : bool := match e with
  | Number q => Z.ltb 0 q.1 | Power _ _ => true | Delta _ _ => false | Entry k _ => positive_entry k
  | Add a b | Mul a b => positive_expr positive_entry a && positive_expr positive_entry b
  | Sum _ a => positive_expr positive_entry a end.
Fixpoint positive_entry (T : table) (k : nat) : bool := match T with
  | [::] => false
  | (j, n) :: T' => if j == k then match function n with
      | Exp | Softmax _ => true
      | _ => false end else positive_entry T' k end.
(* whether the argument of function k is positive *)
Definition positive (k : nat) : bool := has (IsPositive k) ||
  if find T k is Some n then positive_expr (positive_entry T) (argument n) else false.
Definition nonzero (k : nat) : bool := has (IsNonzero k) || positive k.

Definition not_negative (e : expr) : bool :=
  if e is Number q then Z.leb 0 q.1 else positive_expr (positive_entry T) e.

Definition last_indices (m : nat) (n : node) := drop (size (slots n) - m)%N (slots n).
Definition this (k : nat) (n : node) := Entry k (slots n).
Definition one_over (bs : seq index) : expr := foldr (fun b e => Mul (Power (inl b.2) ((-1)%Z, xH)) e) (Int 1) bs.
Definition whole (q : ratio) := q.2 == xH.
Definition whole_positive (q : ratio) := (q.2 == xH) && Z.ltb 0 q.1.
Definition to_the (c : ratio) (p : BinNums.positive) : ratio := iter (Pos.to_nat p) (times c) (1%Z, xH).
Definition is_power (c a d : ratio) : bool := (a.2 == xH) && match a.1 with
  | Z0 => d == (1%Z, xH) | Zpos p => d == to_the c p | Zneg p => times d (to_the c p) == (1%Z, xH) end.
Definition deltas_between (vs ws : seq index) : expr := foldr (fun p e => Mul (Delta p.1 p.2) e) (Int 1) (zip vs ws).

Definition derive (known : seq equation) (s : step) : option equation :=
  let provided b h := if b then Some h else None in
  match s with
  | Equal h p => provided (shown known h p) h
  | SameEntries k vs l ws p =>
    if find T k is Some m then if find T l is Some n then
      if instance (slots m) vs (argument m) is Some a then if instance (slots n) ws (argument n) is Some b then
        provided [&& head_eq (function m) (function n), entrywise (function m) & shown known (a, b) p]
                 (Entry k vs, Entry l ws)
      else None else None else None else None
  | SameFunctions k l p =>
    if find T k is Some m then if find T l is Some n then
      provided [&& head_eq (function m) (function n), slots m == slots n & shown known (argument m, argument n) p]
               (this k m, this l n)
    else None else None
  | SoftmaxRows k =>
    if find T k is Some n then if function n is Softmax m then
      provided (m <= size (slots n))%N (Sums (last_indices m n) (this k n), Int 1)
    else None else None
  | SoftmaxShift k l e p =>
    if find T k is Some m then if find T l is Some n then if function m is Softmax i then
      provided [&& head_eq (function n) (Softmax i), slots m == slots n, all (fun w => w \notin last_indices i m) (free e)
                & shown known (argument m, Add (argument n) e) p] (this k m, this l n)
    else None else None else None
  | SoftmaxUniform k =>
    if find T k is Some n then if (function n, argument n) is (Softmax m, Number q) then
      provided (m <= size (slots n))%N (this k n, one_over (last_indices m n))
    else None else None
  | SoftmaxRatio k l p =>
    if find T k is Some m then if find T l is Some n then if (function m, function n) is (Softmax i, Exp) then
      provided [&& slots m == slots n, (i <= size (slots m))%N & shown known (argument m, argument n) p]
               (Mul (this k m) (Sums (last_indices i m) (this l n)), this l n)
    else None else None else None
  | ExpSum k i j p =>
    if find T k is Some l then if find T i is Some m then if find T j is Some n then
      provided [&& head_eq (function l) Exp, head_eq (function m) Exp, head_eq (function n) Exp
                & shown known (argument l, Add (argument m) (argument n)) p]
               (this k l, Mul (this i m) (this j n))
    else None else None else None
  | ExpZero k p =>
    if find T k is Some n then
      provided (head_eq (function n) Exp && shown known (argument n, Int 0) p) (this k n, Int 1)
    else None
  | PowerSum k i j p q =>
    if find T k is Some l then if find T i is Some m then if find T j is Some n then
      if (function l, function m, function n) is (Raised a, Raised b, Raised c) then
      provided [&& positive k, a == plus b c, shown known (argument m, argument l) p & shown known (argument n, argument l) q]
               (Mul (this i m) (this j n), this k l)
    else None else None else None else None
  | PowerOne k =>
    if find T k is Some n then
      provided (head_eq (function n) (Raised (1%Z, xH))) (this k n, argument n)
    else None
  | PowerOfProduct k i j p =>
    if find T k is Some l then if find T i is Some m then if find T j is Some n then
      if (function l, function m, function n) is (Raised a, Raised b, Raised c) then
      provided [&& whole a || (positive i && positive j), a == b, a == c & shown known (argument l, Mul (argument m) (argument n)) p]
               (this k l, Mul (this i m) (this j n))
    else None else None else None else None
  | PowerOfBase k b q p =>
    if find T k is Some n then if function n is Raised a then
      provided (shown known (argument n, Power b q) p) (this k n, Power b (times a q))
    else None else None
  | PowerOfNumber k c d p =>
    if find T k is Some n then if function n is Raised a then
      provided (is_power c a d && shown known (argument n, Number c) p) (this k n, Number d)
    else None else None
  | PowerOfPower k i j p q =>
    if find T k is Some l then if find T i is Some m then if find T j is Some n then
      if (function l, function m, function n) is (Raised a, Raised b, Raised c) then
      provided [&& positive i, c == times a b, shown known (argument l, this i m) p & shown known (argument n, argument m) q]
               (this k l, this j n)
    else None else None else None else None
  | PowerOfExp k i j p q =>
    if find T k is Some l then if find T i is Some m then if find T j is Some n then
      if (function l, function m, function n) is (Raised a, Exp, Exp) then
      provided (shown known (argument l, this i m) p && shown known (argument n, Mul (Number a) (argument m)) q)
               (this k l, this j n)
    else None else None else None else None
  | LogOfExp k i p =>
    if find T k is Some l then if find T i is Some m then
      provided [&& head_eq (function l) Log, head_eq (function m) Exp & shown known (argument l, this i m) p]
               (this k l, argument m)
    else None else None
  | PowerInverse k =>
    if find T k is Some n then
      provided (head_eq (function n) (Raised ((-1)%Z, xH)) && nonzero k) (Mul (argument n) (this k n), Int 1)
    else None
  | StepSquare k =>
    if find T k is Some n then
      provided (head_eq (function n) Step) (Mul (this k n) (this k n), this k n)
    else None
  | StepScale k l e p =>
    if find T k is Some m then if find T l is Some n then
      provided [&& head_eq (function m) Step, head_eq (function n) Step, slots m == slots n,
                positive_expr (positive_entry T) e & shown known (argument m, Mul e (argument n)) p]
               (this k m, this l n)
    else None else None
  | StepOne k =>
    if find T k is Some n then provided (head_eq (function n) Step && positive k) (this k n, Int 1) else None
  | StepZero k e p =>
    if find T k is Some n then
      provided [&& head_eq (function n) Step, not_negative e & shown known (Add (argument n) e, Int 0) p]
               (this k n, Int 0)
    else None
  | PowerZero k =>
    if find T k is Some n then provided (head_eq (function n) (Raised (Z0, xH))) (this k n, Int 1) else None
  | UnitSquare k =>
    if find T k is Some n then if function n is Unit p then Some (Mul (this k n) (this k n), this k n) else None else None
  | UnitsApart k l =>
    if find T k is Some m then if find T l is Some n then if (function m, function n) is (Unit p, Unit q) then
      provided ((p != q) && (slots m == slots n)) (Mul (this k m) (this l n), Int 0)
    else None else None else None
  | UnitSum k m p =>
    if find T k is Some n then if (function n, slots n) is (Unit q, [:: v]) then
      provided ((q == 0%N) || (q < Pos.to_nat m)%N && shown known (Power (inl v.2) (1%Z, xH), Number (Zpos m, xH)) p)
               (Sum v (this k n), Int 1)
    else None else None
  | InverseLeft k ws =>
    if find T k is Some n then if function n is Inverse i then
      let rows := take i (slots n) in let columns := drop i (slots n) in
      if instance (slots n) (ws ++ columns) (argument n) is Some e then
        provided [&& has (IsInvertible k), size (slots n) == (i + i)%N, sizes rows == sizes columns,
                  size ws == i, sizes ws == sizes rows, uniq ws & all (fun w => w \notin slots n) ws]
                 (Sums ws (Mul (Entry k (rows ++ ws)) e), deltas_between rows columns)
      else None else None else None
  | InverseRight k ws =>
    if find T k is Some n then if function n is Inverse i then
      let rows := take i (slots n) in let columns := drop i (slots n) in
      if instance (slots n) (rows ++ ws) (argument n) is Some e then
        provided [&& has (IsInvertible k), size (slots n) == (i + i)%N, sizes rows == sizes columns,
                  size ws == i, sizes ws == sizes rows, uniq ws & all (fun w => w \notin slots n) ws]
                 (Sums ws (Mul e (Entry k (ws ++ columns))), deltas_between rows columns)
      else None else None else None
  end.

Fixpoint derive_all (known : seq equation) (ss : seq step) : option (seq equation) := match ss with
  | [::] => Some known
  | s :: ss' => if derive known s is Some h then derive_all (rcons known h) ss' else None end.
Definition proves (known : seq equation) (ss : seq step) (h : equation) (p : proof) : bool :=
  if derive_all known ss is Some all_known then shown all_known h p else false.
End Derive.

(* ------------------------------------------------------------------------------------------------------------ meaning *)
Section Real.
Variable R : realType.
Variable size_of : nat -> nat.
Hypothesis sizes_positive : forall s, (0 < size_of s)%N.
Variable scalar : nat -> R.
Hypothesis scalars_positive : forall n, 0 < scalar n.
Variable arbitrary : nat -> seq nat -> (seq nat -> R) -> seq nat -> R.
Variables (T : table) (given : seq condition) (input : nat -> seq nat -> R).
Hypothesis T_formed : well_formed T.
Local Notation en := (entries_of size_of scalar arbitrary T input).
Local Notation val := (meaning size_of scalar en).
Local Notation true_eq := (holds size_of (power size_of scalar) en).
Local Notation ok := (valid size_of).
Local Notation arg := (argument_value size_of scalar arbitrary T input).

Definition condition_holds (c : condition) : Prop := match c with
  | IsPositive k => if find T k is Some n then forall r, ok r -> 0 < val r (argument n) else True
  | IsNonzero k => if find T k is Some n then forall r, ok r -> val r (argument n) != 0 else True
  | IsInvertible k => if find T k is Some n then
      exists N, is_inverse (size (slots n))./2 (lengths size_of (slots n)) (cut (lengths size_of (slots n)) (arg n)) N
      else True end.
Hypothesis given_hold : forall c, List.In c given -> condition_holds c.

Let P0 := power0 sizes_positive scalars_positive.
Let PD := powerD sizes_positive scalars_positive.
Let PS := @power_size R size_of scalar.

(* ---------------------------------------------------------------------------------------------------------- rewriting *)

Lemma map_lookup bs vs k (r : environment) : uniq bs -> sizes bs = sizes vs ->
  map (r \o lookup bs vs (moved k)) bs = map r vs.
Proof.
elim: bs vs => [|b bs IH] [|v vs] //= /andP[bn un] [_ E]; rewrite /comp eqxx; congr cons.
rewrite -(IH vs un E); apply/eq_in_map => w wb /=.
by case: eqP => // wE; rewrite -wE wb in bn.
Qed.
Lemma replacement_value rules k vs r : (forall h, List.In h rules -> true_eq h) -> ok r ->
  val r (replacement rules k vs) = val r (Entry k vs).
Proof.
elim: rules => [|[l body] rules IH] H rV //.
have {}IH : val r (replacement rules k vs) = val r (Entry k vs) by apply: IH => // h I; apply: H; right.
case: l H => //= j bs H; case: ifP => // /andP[/eqP <- un]; case E: (instance _ _ _) => [e|] //.
have [V sz] := instance_value size_of (power size_of scalar) en r E.
rewrite /meaning V -(H (Entry j bs, body)); [|by left|exact: lookup_valid].
by rewrite /= map_lookup.
Qed.
Lemma rewritten_value rules e r : (forall h, List.In h rules -> true_eq h) -> ok r ->
  val r (rewritten rules e) = val r e.
Proof.
move=> H; elim: e r => [q|b q|i j|t vs|a IHa b IHb|a IHa b IHb|v a IHa] r rV //.
- exact: replacement_value.
- by rewrite -[LHS]/(val r (rewritten rules a) + val r (rewritten rules b)) IHa // IHb.
- by rewrite -[LHS]/(val r (rewritten rules a) * val r (rewritten rules b)) IHa // IHb.
by apply: eq_big_nat => x /andP[_ xs]; apply: IHa; exact: update_valid.
Qed.
Lemma nth_all known ns h : (forall h, List.In h known -> true_eq h) ->
  List.In h [seq nth trivial known n | n <- ns] -> true_eq h.
Proof.
move=> H; elim: ns => [|n ns IH] //= [<-|/IH //]; exact: nth_holds.
Qed.
Lemma shown_holds known h p : (forall h, List.In h known -> true_eq h) -> shown known h p -> true_eq h.
Proof.
case: h => e1 e2; rewrite /shown => H; case U: (without_uses _ _) => [e|] // V r rV.
have passed ns a : val r (foldl (pass known) a ns) = val r a.
  elim: ns a => [|m ns IH] a //=; rewrite IH; apply: rewritten_value => //.
  by move=> h; exact: nth_all.
have := vanishes_value en P0 PD PS rV V; rewrite -/(val r _) passed /meaning difference_value.
by rewrite (without_uses_value H rV U) addr0 => /eqP; rewrite subr_eq0 => /eqP.
Qed.

(* ------------------------------------------------------------------------------------------------- values of functions *)

Lemma to_holds a b : (forall r, ok r -> val r a = val r b) -> true_eq (a, b).
Proof. by []. Qed.
Lemma of_holds a b r : true_eq (a, b) -> ok r -> val r a = val r b.
Proof. by move=> E /E. Qed.

Local Notation bounds n := (lengths size_of (slots n)).
Lemma this_value k n r : find T k = Some n -> ok r ->
  val r (this k n) = apply arbitrary (function n) (bounds n) (cut (bounds n) (arg n)) (map r (slots n)).
Proof. by move=> F _; exact: (entry_value _ _ _ _ T_formed). Qed.
Lemma argument_in n r : closed n -> ok r -> cut (bounds n) (arg n) (map r (slots n)) = val r (argument n).
Proof. by move=> C rV; rewrite /cut valid_within // argument_at. Qed.
Lemma same_arguments m n : slots m = slots n -> true_eq (argument m, argument n) ->
  cut (bounds m) (arg m) = cut (bounds n) (arg n).
Proof.
move=> S E; rewrite S; apply: cut_eq => xs wx; rewrite /argument_value S; apply: E.
by apply: assigned_valid => //; exact: nowhere_valid.
Qed.
Lemma same_functions k l m n : find T k = Some m -> find T l = Some n -> function m = function n -> slots m = slots n ->
  true_eq (argument m, argument n) -> true_eq (this k m, this l n).
Proof.
move=> Fk Fl F S E; apply: to_holds => r rV; rewrite (this_value Fk rV) (this_value Fl rV) F.
by rewrite (same_arguments S E) S.
Qed.
(* an entrywise function at any indices *)
Definition at_number (h : head) (x : R) : R := match h with
  | Exp => expR x | Log => ln x | Step => (0 < x)%R%:R | Raised q => raised x q | _ => 0 end.
Lemma entrywise_value k n vs a r : find T k = Some n -> entrywise (function n) ->
  instance (slots n) vs (argument n) = Some a -> ok r -> val r (Entry k vs) = at_number (function n) (val r a).
Proof.
move=> F W I rV; have [C _] := find_value size_of scalar arbitrary input T_formed F.
have [V sz] := instance_value size_of (power size_of scalar) en r I.
have /andP[/allP fr un] := C.
set r' := r \o lookup (slots n) vs (moved (above vs)).
have r'V : ok r' by exact: lookup_valid.
have -> : val r (Entry k vs) = val r' (this k n) by rewrite /meaning /= map_lookup.
rewrite (this_value F r'V) /meaning V -/(val r' _) -(argument_in C r'V).
by case: (function n) W.
Qed.
Lemma entrywise_this k n r : find T k = Some n -> entrywise (function n) -> ok r ->
  val r (this k n) = at_number (function n) (val r (argument n)).
Proof.
move=> F W rV; have [C _] := find_value size_of scalar arbitrary input T_formed F.
by rewrite (this_value F rV) -(argument_in C rV); case: (function n) W.
Qed.

Lemma entrywise_as k n h r : find T k = Some n -> function n = h -> entrywise h -> ok r ->
  val r (this k n) = at_number h (val r (argument n)).
Proof. by move=> F E W rV; rewrite -E; apply: entrywise_this => //; rewrite E. Qed.

(* sums over the last indices *)
Lemma sums_total entry bs e r : meaning size_of scalar entry r (Sums bs e)
  = total (lengths size_of bs) (fun xs => meaning size_of scalar entry (assigned bs xs r) e).
Proof. by elim: bs r => [|b bs IH] r //=; apply: eq_bigr => x _; exact: IH. Qed.
Lemma total_eq ns (f g : seq nat -> R) : (forall xs, within ns xs -> f xs = g xs) -> total ns f = total ns g.
Proof.
elim: ns f g => [|n ns IH] f g E /=; first exact: E.
by apply: eq_big_nat => x /andP[_ xn]; apply: IH => xs wx; apply: E; rewrite /= xn.
Qed.
Lemma total_scaled ns (f : seq nat -> R) c : total ns (fun xs => f xs * c) = total ns f * c.
Proof.
elim: ns f => [|n ns IH] f //=; rewrite mulr_suml; apply: eq_bigr => x _; exact: IH.
Qed.
Lemma total_gt0 ns (f : seq nat -> R) : all (fun n => 0 < n)%N ns -> (forall xs, 0 < f xs) -> 0 < total ns f.
Proof.
elim: ns f => [|[|n] ns IH] f //= pos f0; rewrite big_nat_recl //.
have p x : 0 < total ns (fun xs => f (x :: xs)) by exact: IH.
by rewrite ltr_paddr // sumr_ge0 // => i _; exact/ltW.
Qed.
Lemma lengths_positive bs : all (fun n => 0 < n)%N (lengths size_of bs).
Proof. by elim: bs => //= b bs ->; rewrite sizes_positive. Qed.
Lemma lengths_drop m bs : drop m (lengths size_of bs) = lengths size_of (drop m bs).
Proof. by rewrite /lengths map_drop. Qed.
Lemma size_lengths bs : size (lengths size_of bs) = size bs. Proof. exact: size_map. Qed.

Lemma map_assigned_last m bs ys (r : environment) : uniq bs -> size ys = size (drop m bs) ->
  map (assigned (drop m bs) ys r) bs = take m (map r bs) ++ ys.
Proof.
move=> un sz; rewrite -{2}(cat_take_drop m bs) map_cat; congr (_ ++ _); last first.
  by apply: assigned_map => //; exact: drop_uniq.
rewrite -map_take; apply/eq_in_map => w wt; apply: assigned_notin.
move: un; rewrite -{1}(cat_take_drop m bs) cat_uniq => /and3P[_ /hasPn H _].
by apply/negP => /H/negP; exact.
Qed.

Lemma last_value m bs e r (f : seq nat -> R) : uniq bs -> ok r ->
  (forall r', ok r' -> val r' e = f (map r' bs)) ->
  val r (Sums (drop m bs) e) = total (lengths size_of (drop m bs)) (fun ys => f (take m (map r bs) ++ ys)).
Proof.
move=> un rV E; rewrite sums_total; apply: total_eq => ys wy; rewrite E; last exact: assigned_valid.
by rewrite map_assigned_last //; have := within_size wy; rewrite size_lengths.
Qed.

(* ------------------------------------------------------------------------------------------------------- positive values *)

Lemma positive_expr_gt0 (entry : nat -> seq nat -> R) (pe : nat -> bool) e r :
  (forall k vs r, pe k -> ok r -> 0 < meaning size_of scalar entry r (Entry k vs)) -> positive_expr pe e -> ok r ->
  0 < meaning size_of scalar entry r e.
Proof.
move=> H; elim: e r => [q|b q|i j|t vs|a IHa b IHb|a IHa b IHb|v a IHa] r //=.
- move=> q0 _; rewrite /meaning /= /rational divr_gt0 //; last first.
    by rewrite lt_def natural_neq0 ler0n.
  case: (q.1) q0 => [|p|p] // _; rewrite integer_positive.
  by rewrite lt_def natural_neq0 ler0n.
- by move=> _ _; apply: raised_gt0; exact: base_positive.
- by move=> ? ?; exact: H.
- by case/andP => pa pb rV; rewrite /meaning /= addr_gt0 //; [exact: IHa|exact: IHb].
- by case/andP => pa pb rV; rewrite /meaning /= mulr_gt0 //; [exact: IHa|exact: IHb].
move=> pa rV; rewrite /meaning /=.
case: (size_of v.2) (sizes_positive v.2) (fun x => @update_valid size_of r v x rV) => // n _ V.
rewrite big_nat_recl // ltr_paddr //; last by apply: IHa => //; exact: V.
by rewrite big_nat; apply: sumr_ge0 => x /andP[_ xn]; apply/ltW; apply: IHa => //; exact: V.
Qed.
Lemma positive_entry_gt0 k vs r : positive_entry T k -> ok r -> 0 < val r (Entry k vs).
Proof.
have found T' : positive_entry T' k -> exists2 n, find T' k = Some n &
    match function n with Exp | Softmax _ => true | _ => false end.
  by elim: T' => [|[j n] T'' IH] //=; case: eqP => [_ h|_ /IH //]; exists n => //; case: (function n) h.
move=> /found [n F] h rV; rewrite (entry_value _ _ _ _ T_formed _ _ F).
case: (function n) h => // [|m] _; first exact: expR_gt0.
rewrite /= /softmax divr_gt0 ?expR_gt0 // total_gt0 //; last by move=> xs; exact: expR_gt0.
by rewrite lengths_drop lengths_positive.
Qed.
Lemma has_given c : has given c -> condition_holds c.
Proof.
move=> h; suff: exists2 d, List.In d given & condition_eq c d.
  by case=> d /given_hold H; case: c d H {h} => k [] l // H /eqP ->.
elim: given h => [|d cs IH] //= /orP[E|/IH [d' I E]]; first by exists d; [left|].
by exists d'; [right|].
Qed.
Lemma positive_gt0 k n r : positive T given k -> find T k = Some n -> ok r -> 0 < val r (argument n).
Proof.
rewrite /positive => /orP[/has_given|]; first by rewrite /= => H F; move: H; rewrite F; exact.
move=> P F; rewrite F in P; move=> rV; apply: positive_expr_gt0 P rV => j vs r'; exact: positive_entry_gt0.
Qed.
Lemma nonzero_neq0 k n r : nonzero T given k -> find T k = Some n -> ok r -> val r (argument n) != 0.
Proof.
rewrite /nonzero => /orP[/has_given|P F rV]; first by rewrite /= => H F; move: H; rewrite F; exact.
by rewrite gt_eqF // (positive_gt0 P F rV).
Qed.

(* ---------------------------------------------------------------------------------------------------------- the steps *)

Local Notation found F := (find_value size_of scalar arbitrary input T_formed F).
(* the indices bs have the values ys, all others those of r *)
Local Notation along bs ys r := (assigned bs ys r).
Lemma argument_along m n ys r : closed n -> ok r -> within (lengths size_of (drop m (slots n))) ys ->
  cut (bounds n) (arg n) (take m (map r (slots n)) ++ ys) = val (along (drop m (slots n)) ys r) (argument n).
Proof.
move=> C rV wy; have /andP[_ un] := C; have rV' : ok (along (drop m (slots n)) ys r) by exact: assigned_valid.
rewrite -(argument_in C rV') map_assigned_last //.
by have := within_size wy; rewrite size_lengths.
Qed.
Lemma softmax_value k n m r : find T k = Some n -> function n = Softmax m -> ok r ->
  val r (this k n) = expR (val r (argument n)) /
    total (lengths size_of (last_indices m n)) (fun ys => expR (val (along (last_indices m n) ys r) (argument n))).
Proof.
move=> F S rV; have [C _] := found F.
rewrite (this_value F rV) S /= /softmax (argument_in C rV) size_lengths lengths_drop; congr (_ / _).
by apply: total_eq => ys wy; rewrite argument_along.
Qed.
Lemma total_exp_neq0 bs (f : seq nat -> R) : total (lengths size_of bs) (fun ys => expR (f ys)) != 0.
Proof. by rewrite gt_eqF // total_gt0 ?lengths_positive // => xs; exact: expR_gt0. Qed.
Lemma softmax_rows k n m : find T k = Some n -> function n = Softmax m ->
  true_eq (Sums (last_indices m n) (this k n), Int 1).
Proof.
move=> F S; apply: to_holds => r rV; have [C _] := found F; have /andP[_ un] := C.
rewrite (@last_value _ _ _ _ (softmax m (bounds n) (cut (bounds n) (arg n)))) // => [|r' r'V]; last first.
  by rewrite (this_value F r'V) S.
set j := (size (slots n) - m)%N; rewrite /meaning /= rational1 /softmax size_lengths -/j.
have sz : size (take j (map r (slots n))) = j by rewrite size_takel // size_map leq_subr.
under total_eq => ys _ do rewrite take_size_cat //.
rewrite total_scaled lengths_drop divff //.
exact: total_exp_neq0.
Qed.
Lemma softmax_shift k l m n i e : find T k = Some m -> find T l = Some n -> function m = Softmax i ->
  function n = Softmax i -> slots m = slots n -> all (fun w => w \notin last_indices i m) (free e) ->
  true_eq (argument m, Add (argument n) e) -> true_eq (this k m, this l n).
Proof.
move=> Fm Fn Sm Sn S /allP fr E; apply: to_holds => r rV.
rewrite (softmax_value Fm Sm rV) (softmax_value Fn Sn rV).
have L : last_indices i n = last_indices i m by rewrite /last_indices S.
have split_arg r' : ok r' -> val r' (argument m) = val r' (argument n) + val r' e by move=> r'V; exact: (of_holds E).
rewrite L split_arg // expRD.
have -> : total (lengths size_of (last_indices i m)) (fun ys => expR (val (along (last_indices i m) ys r) (argument m)))
    = total (lengths size_of (last_indices i m)) (fun ys => expR (val (along (last_indices i m) ys r) (argument n)))
      * expR (val r e).
  rewrite -total_scaled; apply: total_eq => ys wy; rewrite split_arg ?expRD; last exact: assigned_valid.
  congr (_ * expR _); apply: meaning_free => w /fr wn; exact: assigned_notin.
rewrite invfM mulrACA divff ?mulr1 //.
by rewrite gt_eqF // expR_gt0.
Qed.
Lemma total_constant ns (c : R) : total ns (fun=> c) = (\prod_(n <- ns) n%:R) * c.
Proof.
elim: ns => [|n ns IH] /=; first by rewrite big_nil mul1r.
by rewrite IH sumr_const_nat subn0 big_cons -[LHS]mulr_natl mulrA.
Qed.
Lemma one_over_value bs r : val r (one_over bs) = (\prod_(n <- lengths size_of bs) n%:R)^-1.
Proof.
elim: bs => [|b bs IH]; first by rewrite /= big_nil invr1 /meaning /= rational1.
rewrite -[LHS]/(power size_of scalar (inl b.2) ((-1)%Z, xH) * val r (one_over bs)) IH /= big_cons invfM.
by rewrite /power /raised /= expr1.
Qed.
Lemma softmax_uniform k n m q : find T k = Some n -> function n = Softmax m -> argument n = Number q ->
  true_eq (this k n, one_over (last_indices m n)).
Proof.
move=> F S A; apply: to_holds => r rV; rewrite (softmax_value F S rV) one_over_value A.
rewrite -[val r _]/(rational R q) (total_eq (g := fun=> expR (rational R q))) // total_constant invfM mulrCA divff ?mulr1 //.
by rewrite gt_eqF // expR_gt0.
Qed.
Lemma softmax_ratio k l m n i : find T k = Some m -> find T l = Some n -> function m = Softmax i ->
  function n = Exp -> slots m = slots n -> true_eq (argument m, argument n) ->
  true_eq (Mul (this k m) (Sums (last_indices i m) (this l n)), this l n).
Proof.
move=> Fm Fn Sm Sn S E; apply: to_holds => r rV.
have X r' : ok r' -> val r' (this l n) = expR (val r' (argument n)) by exact: (entrywise_as Fn Sn isT).
rewrite -[LHS]/(val r (this k m) * val r (Sums (last_indices i m) (this l n))) sums_total X // (softmax_value Fm Sm rV).
rewrite (of_holds E rV) -mulrA (_ : _^-1 * _ = 1) ?mulr1 //.
rewrite (total_eq (g := fun ys => expR (val (along (last_indices i m) ys r) (argument m)))).
  by rewrite mulVf //; exact: total_exp_neq0.
move=> ys wy; rewrite X; last exact: assigned_valid.
by rewrite (of_holds E) //; exact: assigned_valid.
Qed.
Lemma exp_sum k i j l m n : find T k = Some l -> find T i = Some m -> find T j = Some n -> function l = Exp ->
  function m = Exp -> function n = Exp ->
  true_eq (argument l, Add (argument m) (argument n)) -> true_eq (this k l, Mul (this i m) (this j n)).
Proof.
move=> Fl Fm Fn El Em En E; apply: to_holds => r rV.
rewrite -[RHS]/(val r (this i m) * val r (this j n)).
by rewrite (entrywise_as Fl El isT rV) (entrywise_as Fm Em isT rV) (entrywise_as Fn En isT rV) /= (of_holds E rV) -expRD.
Qed.
Lemma exp_zero k n : find T k = Some n -> function n = Exp -> true_eq (argument n, Int 0) -> true_eq (this k n, Int 1).
Proof.
move=> F S E; apply: to_holds => r rV; rewrite (entrywise_as F S isT rV) /= (of_holds E rV).
by rewrite /meaning /= rational1 rational0 // expR0.
Qed.
Lemma power_sum k i j l m n a b c : find T k = Some l -> find T i = Some m -> find T j = Some n -> function l = Raised a ->
  function m = Raised b -> function n = Raised c -> positive T given k -> a = plus b c ->
  true_eq (argument m, argument l) -> true_eq (argument n, argument l) -> true_eq (Mul (this i m) (this j n), this k l).
Proof.
move=> Fl Fm Fn El Em En P A E1 E2; apply: to_holds => r rV.
rewrite -[LHS]/(val r (this i m) * val r (this j n)).
rewrite (entrywise_as Fl El isT rV) (entrywise_as Fm Em isT rV) (entrywise_as Fn En isT rV) /=.
by rewrite (of_holds E1 rV) (of_holds E2 rV) A raisedD //; exact: positive_gt0 P Fl rV.
Qed.
Lemma raised_whole_product (x y : R) q : whole q -> raised (x * y) q = raised x q * raised y q.
Proof.
move=> /eqP w; rewrite /raised w eqxx; case: (q.1) => [|p|p]; rewrite ?mulr1 // exprMn // invfM //.
Qed.
Lemma power_of_product k i j l m n a : find T k = Some l -> find T i = Some m -> find T j = Some n ->
  function l = Raised a -> function m = Raised a -> function n = Raised a ->
  whole a || (positive T given i && positive T given j) ->
  true_eq (argument l, Mul (argument m) (argument n)) -> true_eq (this k l, Mul (this i m) (this j n)).
Proof.
move=> Fl Fm Fn El Em En W E; apply: to_holds => r rV.
rewrite -[RHS]/(val r (this i m) * val r (this j n)).
rewrite (entrywise_as Fl El isT rV) (entrywise_as Fm Em isT rV) (entrywise_as Fn En isT rV) /= (of_holds E rV).
rewrite -[val r (Mul _ _)]/(val r (argument m) * val r (argument n)).
case/orP: W => [w|/andP[pm pn]]; first exact: raised_whole_product.
by rewrite raised_product // ?(positive_gt0 pm Fm rV) ?(positive_gt0 pn Fn rV).
Qed.
Lemma raised_times (x : R) p q : 0 < x -> raised (raised x q) p = raised x (times p q).
Proof.
move=> x0; rewrite raised_positive ?raised_gt0 // [in LHS]raised_positive // [RHS]raised_positive //.
by rewrite expK rationalM mulrA.
Qed.
Lemma power_of_base k n b q a : find T k = Some n -> function n = Raised a -> true_eq (argument n, Power b q) ->
  true_eq (this k n, Power b (times a q)).
Proof.
move=> F S E; apply: to_holds => r rV; rewrite (entrywise_as F S isT rV) /= (of_holds E rV).
by rewrite /meaning /= /power raised_times //; exact: base_positive.
Qed.
Lemma power_of_power k i j l m n a b c : find T k = Some l -> find T i = Some m -> find T j = Some n ->
  function l = Raised a -> function m = Raised b -> function n = Raised c -> positive T given i -> c = times a b ->
  true_eq (argument l, this i m) -> true_eq (argument n, argument m) -> true_eq (this k l, this j n).
Proof.
move=> Fl Fm Fn El Em En P A E1 E2; rewrite A in En; apply: to_holds => r rV.
rewrite (entrywise_as Fl El isT rV) (entrywise_as Fn En isT rV) /= (of_holds E1 rV) (entrywise_as Fm Em isT rV) /=.
by rewrite (of_holds E2 rV) raised_times //; exact: positive_gt0 P Fm rV.
Qed.
Lemma power_of_exp k i j l m n a : find T k = Some l -> find T i = Some m -> find T j = Some n ->
  function l = Raised a -> function m = Exp -> function n = Exp -> true_eq (argument l, this i m) ->
  true_eq (argument n, Mul (Number a) (argument m)) -> true_eq (this k l, this j n).
Proof.
move=> Fl Fm Fn El Em En E1 E2; apply: to_holds => r rV.
rewrite (entrywise_as Fl El isT rV) (entrywise_as Fn En isT rV) /= (of_holds E1 rV) (entrywise_as Fm Em isT rV) /=.
by rewrite (of_holds E2 rV) raised_positive ?expR_gt0 // expK.
Qed.
Lemma log_of_exp k i l m : find T k = Some l -> find T i = Some m -> function l = Log -> function m = Exp ->
  true_eq (argument l, this i m) -> true_eq (this k l, argument m).
Proof.
move=> Fl Fm El Em E; apply: to_holds => r rV.
by rewrite (entrywise_as Fl El isT rV) /= (of_holds E rV) (entrywise_as Fm Em isT rV) /= expK.
Qed.
Lemma to_the_value c p : rational R (to_the c p) = rational R c ^+ Pos.to_nat p.
Proof. by rewrite /to_the; elim: (Pos.to_nat p) => [|m IH]; rewrite ?expr0 ?rational1 // iterS rationalM IH exprS. Qed.
Lemma power_of_number k n a c d : find T k = Some n -> function n = Raised a -> is_power c a d ->
  true_eq (argument n, Number c) -> true_eq (this k n, Number d).
Proof.
move=> F S /andP[/eqP w P] E; apply: to_holds => r rV; rewrite (entrywise_as F S isT rV) /= (of_holds E rV).
rewrite /meaning /= /raised w eqxx.
case: (a.1) P => [|p|p] /eqP P; [by rewrite P rational1|by rewrite P to_the_value|].
have := congr1 (rational R) P; rewrite rationalM to_the_value rational1 => Q.
have nz : rational R c ^+ Pos.to_nat p != 0.
  by apply/eqP => z; move: Q; rewrite z mulr0 => /eqP; rewrite eq_sym oner_eq0.
by apply: (mulIf nz); rewrite mulVf.
Qed.
Lemma power_inverse k n : find T k = Some n -> function n = Raised ((-1)%Z, xH) -> nonzero T given k ->
  true_eq (Mul (argument n) (this k n), Int 1).
Proof.
move=> F S N; apply: to_holds => r rV.
rewrite -[LHS]/(val r (argument n) * val r (this k n)) (entrywise_as F S isT rV) /=.
by rewrite /raised /= expr1 divff ?(nonzero_neq0 N F rV) // /meaning /= rational1.
Qed.
Lemma step_square k n : find T k = Some n -> function n = Step -> true_eq (Mul (this k n) (this k n), this k n).
Proof.
move=> F S; apply: to_holds => r rV.
rewrite -[LHS]/(val r (this k n) * val r (this k n)) (entrywise_as F S isT rV) /=.
by case: (0 < _); rewrite ?mulr1 ?mulr0.
Qed.
Lemma step_scale k l m n e : find T k = Some m -> find T l = Some n -> function m = Step -> function n = Step ->
  positive_expr (positive_entry T) e -> true_eq (argument m, Mul e (argument n)) -> true_eq (this k m, this l n).
Proof.
move=> Fm Fn Sm Sn P E; apply: to_holds => r rV.
rewrite (entrywise_as Fm Sm isT rV) (entrywise_as Fn Sn isT rV) /= (of_holds E rV).
rewrite -[val r (Mul _ _)]/(val r e * val r (argument n)) pmulr_rgt0 //.
by apply: positive_expr_gt0 P rV => j vs r'; exact: positive_entry_gt0.
Qed.

Lemma step_one k n : find T k = Some n -> function n = Step -> positive T given k -> true_eq (this k n, Int 1).
Proof.
move=> F S P; apply: to_holds => r rV; rewrite (entrywise_as F S isT rV) /= (positive_gt0 P F rV).
by rewrite /meaning /= rational1.
Qed.
Lemma not_negative_ge0 e r : not_negative T e -> ok r -> 0 <= val r e.
Proof.
move=> P rV; have pos : positive_expr (positive_entry T) e -> 0 <= val r e.
  by move=> p; apply/ltW; apply: positive_expr_gt0 p rV => j vs r'; exact: positive_entry_gt0.
case: e P pos => [q|b q|i j|t vs|a b|a b|v a] P pos; try exact: pos.
rewrite /meaning /= /rational mulr_ge0 ?invr_ge0 ?ler0n // /natural ?ler0n //.
move: P; rewrite /not_negative; case: (q.1) => [|p|p] // _; first by rewrite integer0.
by rewrite integer_positive ler0n.
Qed.
Lemma step_zero k n e : find T k = Some n -> function n = Step -> not_negative T e ->
  true_eq (Add (argument n) e, Int 0) -> true_eq (this k n, Int 0).
Proof.
move=> F S P E; apply: to_holds => r rV; rewrite (entrywise_as F S isT rV) /=.
have Z : val r (Int 0) = 0 by rewrite /meaning /= rational0.
have := of_holds E rV; rewrite Z -[val r (Add _ _)]/(val r (argument n) + val r e) => /eqP; rewrite addr_eq0 => /eqP ->.
by rewrite oppr_gt0 ltNge not_negative_ge0.
Qed.
Lemma power_zero k n : find T k = Some n -> function n = Raised (Z0, xH) -> true_eq (this k n, Int 1).
Proof.
by move=> F S; apply: to_holds => r rV; rewrite (entrywise_as F S isT rV) /= /raised /= /meaning /= rational1.
Qed.
Lemma unit_value k n p r : find T k = Some n -> function n = Unit p -> ok r ->
  val r (this k n) = (nth 0%N (map r (slots n)) 0 == p)%:R.
Proof. by move=> F S rV; rewrite (this_value F rV) S. Qed.
Lemma unit_square k n p : find T k = Some n -> function n = Unit p -> true_eq (Mul (this k n) (this k n), this k n).
Proof.
move=> F S; apply: to_holds => r rV; rewrite -[LHS]/(val r (this k n) * val r (this k n)) (unit_value F S rV).
by case: (_ == p); rewrite ?mulr1 ?mulr0.
Qed.
Lemma units_apart k l m n p q : find T k = Some m -> find T l = Some n -> function m = Unit p -> function n = Unit q ->
  p != q -> slots m = slots n -> true_eq (Mul (this k m) (this l n), Int 0).
Proof.
move=> Fm Fn Sm Sn D E; apply: to_holds => r rV; rewrite -[LHS]/(val r (this k m) * val r (this l n)).
rewrite (unit_value Fm Sm rV) (unit_value Fn Sn rV) E /meaning /= rational0 //.
by case: eqP => [->|_]; rewrite ?mul0r // (negPf D) mulr0.
Qed.
Lemma unit_sum k n q v m : find T k = Some n -> function n = Unit q -> slots n = [:: v] ->
  q = 0%N \/ (q < Pos.to_nat m)%N /\ true_eq (Power (inl v.2) (1%Z, xH), Number (Zpos m, xH)) ->
  true_eq (Sum v (this k n), Int 1).
Proof.
move=> F S V Q; apply: to_holds => r rV; have qs : (q < size_of v.2)%N.
  case: Q => [-> //|[qm E]]; have := of_holds E rV.
  have -> : val r (Number (Zpos m, xH)) = (Pos.to_nat m)%:R.
    by rewrite -[RHS]/(natural R m) -integer_positive -[RHS]divr1.
  rewrite /meaning /= power_size // => /eqP.
  by rewrite eqr_nat => /eqP ->.
have -> : val r (Sum v (this k n)) = \sum_(0 <= x < size_of v.2) (x == q)%:R.
  apply: eq_big_nat => x /andP[_ xs]; have rV' : ok (update r v x) by exact: update_valid.
  by rewrite -[LHS]/(val (update r v x) (this k n)) (unit_value F S rV') V /= update_same.
rewrite (bigD1_seq q) ?iota_uniq ?mem_index_iota //= eqxx big1 => [|x /negPf -> //].
by rewrite addr0 /meaning /= rational1.
Qed.

Lemma deltas_value entry vs ws r : size vs = size ws ->
  meaning size_of scalar entry r (deltas_between vs ws) = (map r vs == map r ws)%:R.
Proof.
elim: vs ws => [|v vs IH] [|w ws] // E; first by rewrite /meaning /= rational1.
rewrite -[LHS]/((r v == r w)%:R * meaning size_of scalar entry r (deltas_between vs ws)) IH; last by case: E.
by rewrite /= eqseq_cons -mulnb natrM.
Qed.
Section Inverses.
Variables (k : nat) (n : node) (i : nat) (ws : seq index).
Hypotheses (F : find T k = Some n) (S : function n = Inverse i) (sz : size (slots n) = (i + i)%N).
Hypotheses (I : has given (IsInvertible k)) (sq : sizes (take i (slots n)) = sizes (drop i (slots n))).
Hypotheses (sw : size ws = i) (sws : sizes ws = sizes (take i (slots n))).
Hypotheses (uw : uniq ws) (aw : all (fun w => w \notin slots n) ws).
Let rows := take i (slots n).
Let columns := drop i (slots n).
Let inv := inverse i (bounds n) (cut (bounds n) (arg n)).

Lemma lengths_sizes vs us : sizes vs = sizes us -> lengths size_of vs = lengths size_of us.
Proof. by move=> E; have X bs : lengths size_of bs = map size_of (sizes bs); rewrite ?X ?E // /sizes -map_comp. Qed.
Lemma inverse_is : is_inverse i (bounds n) (cut (bounds n) (arg n)) inv.
Proof.
have := has_given I; rewrite /= F sz addnn doubleK => -[N HN].
by rewrite /inv /inverse; case: xgetP => [y _ //|/(_ N)].
Qed.
Lemma rows_columns : slots n = rows ++ columns. Proof. by rewrite cat_take_drop. Qed.
Lemma size_rows : size rows = i. Proof. by rewrite size_takel // sz leq_addr. Qed.
Lemma size_columns : size columns = i. Proof. by rewrite size_drop sz addnK. Qed.
Lemma take_bounds : take i (bounds n) = lengths size_of rows. Proof. by rewrite /lengths map_take. Qed.
Lemma along_ws ys r vs : all (fun v => v \in slots n) vs -> map (along ws ys r) vs = map r vs.
Proof.
move=> /allP H; apply/eq_in_map => v /H vn; apply: assigned_notin; apply/negP => vw.
by move/allP: aw => /(_ _ vw); rewrite vn.
Qed.
Lemma entry_inverse r vs : val r (Entry k vs) = inv (map r vs).
Proof. by rewrite (entry_value _ _ _ _ T_formed _ _ F) S. Qed.
Lemma argument_instance vs e r : instance (slots n) vs (argument n) = Some e -> ok r ->
  val r e = cut (bounds n) (arg n) (map r vs).
Proof.
move=> E rV; have [C _] := found F; have /andP[_ un] := C.
have [V s] := instance_value size_of (power size_of scalar) en r E.
have r'V : ok (r \o lookup (slots n) vs (moved (above vs))) by exact: lookup_valid.
by rewrite /meaning V -/(val _ _) -(argument_in C r'V) map_lookup.
Qed.
Lemma all_rows : all (fun v => v \in slots n) rows. Proof. by apply/allP => v /mem_take. Qed.
Lemma all_columns : all (fun v => v \in slots n) columns. Proof. by apply/allP => v /mem_drop. Qed.
Lemma within_rows r : ok r -> within (take i (bounds n)) (map r rows).
Proof. by move=> rV; rewrite take_bounds; exact: valid_within. Qed.
Lemma within_columns r : ok r -> within (take i (bounds n)) (map r columns).
Proof. by move=> rV; rewrite take_bounds (lengths_sizes sq); exact: valid_within. Qed.

Lemma inverse_left e : instance (slots n) (ws ++ columns) (argument n) = Some e ->
  true_eq (Sums ws (Mul (Entry k (rows ++ ws)) e), deltas_between rows columns).
Proof.
move=> E; apply: to_holds => r rV; rewrite sums_total deltas_value ?size_rows ?size_columns //.
have [_ <-] := inverse_is (within_rows rV) (within_columns rV).
rewrite take_bounds -(lengths_sizes sws); apply: total_eq => ys wy.
have sy : size ys = size ws by rewrite (within_size wy) size_lengths.
rewrite -[LHS]/(val _ (Entry k _) * val _ e) entry_inverse (argument_instance E); last exact: assigned_valid.
by rewrite !map_cat (along_ws _ _ all_rows) (along_ws _ _ all_columns) assigned_map.
Qed.
Lemma inverse_right e : instance (slots n) (rows ++ ws) (argument n) = Some e ->
  true_eq (Sums ws (Mul e (Entry k (ws ++ columns))), deltas_between rows columns).
Proof.
move=> E; apply: to_holds => r rV; rewrite sums_total deltas_value ?size_rows ?size_columns //.
have [<- _] := inverse_is (within_rows rV) (within_columns rV).
rewrite take_bounds -(lengths_sizes sws); apply: total_eq => ys wy.
have sy : size ys = size ws by rewrite (within_size wy) size_lengths.
rewrite -[LHS]/(val _ e * val _ (Entry k _)) entry_inverse (argument_instance E); last exact: assigned_valid.
by rewrite !map_cat (along_ws _ _ all_rows) (along_ws _ _ all_columns) assigned_map.
Qed.
End Inverses.

Lemma power_one k n : find T k = Some n -> function n = Raised (1%Z, xH) -> true_eq (this k n, argument n).
Proof. by move=> F S; apply: to_holds => r rV; rewrite (entrywise_as F S isT rV) /= raised_one. Qed.
Lemma same_entries k l m n vs ws a b : find T k = Some m -> find T l = Some n -> function m = function n ->
  entrywise (function m) -> instance (slots m) vs (argument m) = Some a -> instance (slots n) ws (argument n) = Some b ->
  true_eq (a, b) -> true_eq (Entry k vs, Entry l ws).
Proof.
move=> Fm Fn S W Ia Ib E; apply: to_holds => r rV.
rewrite (entrywise_value Fm W Ia rV) (of_holds E rV) S (entrywise_value Fn _ Ib rV) //.
by rewrite -S.
Qed.

Lemma derive_correct known s h : (forall h, List.In h known -> true_eq h) -> derive T given known s = Some h -> true_eq h.
Proof.
move=> H; have by_proof a b p : shown known (a, b) p -> true_eq (a, b) by exact: shown_holds.
case: s => /=.
- by move=> e p; case: ifP => // A [<-]; case: e A => a b; exact: by_proof.
- move=> k vs l ws p; case Fm: (find T k) => [m|] //; case Fn: (find T l) => [n|] //.
  case Ia: (instance _ _ _) => [a|] //; case Ib: (instance _ _ _) => [b|] //.
  case: ifP => // /and3P[/head_eqP E W /by_proof A] [<-]; exact: same_entries Fm Fn E W Ia Ib A.
- move=> k l p; case Fm: (find T k) => [m|] //; case Fn: (find T l) => [n|] //.
  case: ifP => // /and3P[/head_eqP E /eqP W /by_proof A] [<-]; exact: same_functions.
- move=> k; case F: (find T k) => [n|] //; case S: (function n) => [|||q|m|m|m||m] //; case: ifP => // _ [<-].
  exact: softmax_rows.
- move=> k l e p; case Fm: (find T k) => [m|] //; case Fn: (find T l) => [n|] //.
  case S: (function m) => [|||q|i|i|i||i] //; case: ifP => // /and4P[/head_eqP E /eqP W A /by_proof B] [<-].
  exact: softmax_shift Fm Fn S E W A B.
- move=> k; case F: (find T k) => [n|] //; case S: (function n) => [|||q|m|m|m||m] //.
  by case A: (argument n) => [q||||||] //; case: ifP => // _ [<-]; exact: softmax_uniform F S A.
- move=> k l p; case Fm: (find T k) => [m|] //; case Fn: (find T l) => [n|] //.
  case S: (function m) => [|||q|i|i|i||i] //; case S': (function n) => [|||q|i'|i'|i'||i'] //.
  by case: ifP => // /and3P[/eqP W _ /by_proof A] [<-]; exact: softmax_ratio Fm Fn S S' W A.
- move=> k i j p; case Fl: (find T k) => [l|] //; case Fm: (find T i) => [m|] //; case Fn: (find T j) => [n|] //.
  case: ifP => // /and4P[/head_eqP E /head_eqP E' /head_eqP E'' /by_proof A] [<-].
  exact: exp_sum Fl Fm Fn E E' E'' A.
- move=> k p; case F: (find T k) => [n|] //; case: ifP => // /andP[/head_eqP E /by_proof A] [<-]; exact: exp_zero F E A.
- move=> k i j p q; case Fl: (find T k) => [l|] //; case Fm: (find T i) => [m|] //; case Fn: (find T j) => [n|] //.
  case El: (function l) => [|||a|?|?|?||?] //; case Em: (function m) => [|||b|?|?|?||?] //.
  case En: (function n) => [|||c|?|?|?||?] //.
  case: ifP => // /and4P[P /eqP A /by_proof B /by_proof C] [<-].
  exact: power_sum Fl Fm Fn El Em En P A B C.
- by move=> k; case F: (find T k) => [n|] //; case: ifP => // /head_eqP E [<-]; exact: power_one.
- move=> k i j p; case Fl: (find T k) => [l|] //; case Fm: (find T i) => [m|] //; case Fn: (find T j) => [n|] //.
  case El: (function l) => [|||a|?|?|?||?] //; case Em: (function m) => [|||b|?|?|?||?] //.
  case En: (function n) => [|||c|?|?|?||?] //.
  case: ifP => // /and4P[P /eqP A /eqP B /by_proof C] [<-].
  by apply: power_of_product Fl Fm Fn El _ _ P C; rewrite ?Em ?En -?A -?B.
- move=> k b q p; case F: (find T k) => [n|] //; case S: (function n) => [|||a|?|?|?||?] //.
  by case: ifP => // /by_proof A [<-]; exact: power_of_base F S A.
- move=> k c d p; case F: (find T k) => [n|] //; case S: (function n) => [|||a|?|?|?||?] //.
  by case: ifP => // /andP[P /by_proof A] [<-]; exact: power_of_number F S P A.
- move=> k i j p q; case Fl: (find T k) => [l|] //; case Fm: (find T i) => [m|] //; case Fn: (find T j) => [n|] //.
  case El: (function l) => [|||a|?|?|?||?] //; case Em: (function m) => [|||b|?|?|?||?] //.
  case En: (function n) => [|||c|?|?|?||?] //.
  case: ifP => // /and4P[P /eqP A /by_proof B /by_proof C] [<-].
  exact: power_of_power Fl Fm Fn El Em En P A B C.
- move=> k i j p q; case Fl: (find T k) => [l|] //; case Fm: (find T i) => [m|] //; case Fn: (find T j) => [n|] //.
  case El: (function l) => [|||a|?|?|?||?] //; case Em: (function m) => [|||b|?|?|?||?] //.
  case En: (function n) => [|||c|?|?|?||?] //.
  case: ifP => // /andP[/by_proof B /by_proof C] [<-]; exact: power_of_exp Fl Fm Fn El Em En B C.
- move=> k i p; case Fl: (find T k) => [l|] //; case Fm: (find T i) => [m|] //.
  case: ifP => // /and3P[/head_eqP A /head_eqP B /by_proof C] [<-]; exact: log_of_exp Fl Fm A B C.
- move=> k; case F: (find T k) => [n|] //; case: ifP => // /andP[/head_eqP E N] [<-]; exact: power_inverse.
- by move=> k; case F: (find T k) => [n|] //; case: ifP => // /head_eqP E [<-]; exact: step_square.
- move=> k l e p; case Fm: (find T k) => [m|] //; case Fn: (find T l) => [n|] //.
  case: ifP => // /andP[/head_eqP E /and4P[/head_eqP E' _ P /by_proof A]] [<-].
  exact: step_scale Fm Fn E E' P A.
- by move=> k; case F: (find T k) => [n|] //; case: ifP => // /andP[/head_eqP E P] [<-]; exact: step_one F E P.
- move=> k e p; case F: (find T k) => [n|] //; case: ifP => // /and3P[/head_eqP E P /by_proof A] [<-].
  exact: step_zero F E P A.
- by move=> k; case F: (find T k) => [n|] //; case: ifP => // /head_eqP E [<-]; exact: power_zero F E.
- by move=> k; case F: (find T k) => [n|] //; case S: (function n) => [|||?|?|?|p||?] // [<-]; exact: unit_square F S.
- move=> k l; case Fm: (find T k) => [m|] //; case Fn: (find T l) => [n|] //.
  case Sm: (function m) => [|||?|?|?|p||?] //; case Sn: (function n) => [|||?|?|?|q||?] //.
  by case: ifP => // /andP[D /eqP E] [<-]; exact: units_apart Fm Fn Sm Sn D E.
- move=> k m p; case F: (find T k) => [n|] //; case S: (function n) => [|||?|?|?|q||?] //.
  case V: (slots n) => [|v [|]] //; case: ifP => // Q [<-]; apply: (unit_sum (m := m) F S V).
  by case/orP: Q => [/eqP Z|/andP[qm /by_proof A]]; [left|right; split].
- move=> k ws; case F: (find T k) => [n|] //; case S: (function n) => [|||?|?|i|?||?] //.
  case I: (instance _ _ _) => [e|] //; case: ifP => // A [<-].
  case/andP: A => c1 /andP[/eqP c2 /andP[/eqP c3 /andP[/eqP c4 /and3P[/eqP c5 c6 c7]]]].
  by apply: inverse_left I.
move=> k ws; case F: (find T k) => [n|] //; case S: (function n) => [|||?|?|i|?||?] //.
case I: (instance _ _ _) => [e|] //; case: ifP => // A [<-].
case/andP: A => c1 /andP[/eqP c2 /andP[/eqP c3 /andP[/eqP c4 /and3P[/eqP c5 c6 c7]]]].
by apply: inverse_right I.
Qed.

Theorem proves_correct known ss h p : proves T given known ss h p -> (forall h, List.In h known -> true_eq h) -> true_eq h.
Proof.
rewrite /proves; elim: ss known => [|s ss IH] known /=; first by move=> A H; exact: shown_holds A.
case D: (derive _ _ _ _) => [g|] // A H; apply: (IH (rcons known g)) => // g' I.
have : List.In g' known \/ g = g'.
  by elim: known I {A H D} => [|x known IHk] /= [->|]; auto; case/IHk; auto.
by case=> [/H //|<-]; exact: derive_correct D.
Qed.
End Real.
